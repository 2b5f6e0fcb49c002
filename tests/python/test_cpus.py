"""CPUs in scenarios: what is accepted and refused, what the plan says, what the result tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from marqueue.errors import ScenarioError
from marqueue.reports import save_with_report
from marqueue.results import Result
from marqueue.results.optimum import FairOptimum
from marqueue.scenario import Scenario, compile, from_dict, from_toml, load, with_overrides
from marqueue.simulation.run import run

SMALL = """
name = "Small"
duration = "6 s"
warmup = "2 s"
replications = 2

[topology]
kind = "dumbbell"
rtts = ["20 ms", "40 ms"]

[topology.bottleneck]
rate = "4 Mbit/s"
delay = "5 ms"
buffer = "50 packets"

[topology.bottleneck.cpu]
clock = "400 kcycles/s"
cores = 2
buffer = "60 packets"

[[traffic]]
name = "light"
kind = "tcp"
count = 4
processing = "0.25 cycles/bit"

[[traffic]]
name = "heavy"
kind = "cbr"
rate = "100 kbit/s"
packet = "250 B"
processing = { per_bit = "1 cycles/bit", per_packet = "2000 cycles" }

[[traffic]]
name = "plain"
kind = "poisson"
rate = "2 /s"
size = "10 packets"
"""

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CPU = "topology.bottleneck.cpu"


def plan(*overrides: str) -> dict[str, Any]:
    return compile(from_toml(SMALL, overrides))


def cpu(plan: dict[str, Any]) -> dict[str, Any]:
    [link] = [link for link in plan["links"] if link.get("cpu")]
    return link


@pytest.mark.parametrize(
    ("override", "path", "said"),
    [
        (f"{CPU}.clock=0 cycles/s", f"{CPU}.clock", 'got "0 Mcycles/s", expected a clock'),
        (f"{CPU}.clock=25 Mbit/s", f"{CPU}.clock", 'such as "25 Mcycles/s"'),
        (f"{CPU}.cores=0", f"{CPU}.cores", "got 0, expected at least 1"),
        (f"{CPU}.cores=2000", f"{CPU}.cores", "got 2000, expected at most 1024"),
        (f"{CPU}.learning=0", f"{CPU}.learning", "got 0, expected more than 0"),
        (f"{CPU}.learning=1.0", f"{CPU}.learning", "got 1.0, expected less than 1"),
        (f"{CPU}.rate=1 Mbit/s", f"{CPU}.rate", "unknown key, expected one of clock, cores"),
        (f"{CPU}.aqm=drk", f"{CPU}.aqm", 'got "drk", expected one of droptail'),
        (f"{CPU}.aqm.name=drq", f"{CPU}.aqm.max_th", None),
        (f"{CPU}.processing.lite=1 cycles/bit", f"{CPU}.processing.lite", 'did you mean "light"?'),
        (f"{CPU}.processing.light=1 s", f"{CPU}.processing.light", "expected a density such as"),
        ("traffic.0.processing=-1 cycles/bit", "traffic.light.processing", "not negative"),
        ("traffic.0.processing=2 cycles", "traffic.light.processing", 'such as "2 cycles/bit"'),
        ("traffic.0.processing=2", "traffic.light.processing", "got 2, expected a"),
        ("traffic.1.processing.per_bits=1", "traffic.heavy.processing.per_bits", '"per_bit"?'),
        (
            "traffic.1.processing.per_packet=1 B",
            "traffic.heavy.processing.per_packet",
            "1000 cycles",
        ),
        ("traffic.2.shape=1.2", "traffic.plain", "expected a shape with sizes"),
        ("traffic.2.sizes=pareto", "traffic.plain", "expected a shape with sizes"),
    ],
)
def test_a_mistake_is_told_with_its_place(override: str, path: str, said: str | None):
    changes = [override, f'{CPU}.aqm.max_th="50 packets"'] if said is None else [override]
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, changes)
    messages = {problem.path: problem.message for problem in refused.value.problems}
    assert list(messages) == [path]
    assert (said or "more than min_th") in messages[path]


def test_a_cpu_stands_in_front_of_its_link_on_the_way_there_only():
    names = [link["name"] for link in plan()["links"]]
    for route in plan()["routes"]:
        forward = [names[i] for i in route["forward"]]
        assert forward[1:3] == ["bottleneck/cpu", "bottleneck"]
        assert "bottleneck/cpu" not in [names[i] for i in route["reverse"]]


def test_each_group_has_its_work_and_the_queue_is_told_its_cycles_a_bit():
    link = cpu(plan())
    light, heavy, plain = link["cpu"]["work"]
    assert light == {"per_bit": 250_000, "per_packet": 0, "density": 0.25}
    # 2000 cycles for 250 bytes are one a bit more.
    assert heavy == {"per_bit": 1_000_000, "per_packet": 2_000_000_000, "density": 2.0}
    assert plain == {"per_bit": 0, "per_packet": 0, "density": 0.0}
    # 2 cores at 400 kcycles/s, (0.25 + 2)/2 cycles a bit.
    assert link["rate"] == round(8e5 / 1.125)
    assert {entry["class"] for entry in plan()["traffic"]} == {0, 1, 2}


def test_the_rate_of_a_cpu_follows_from_the_groups_whose_data_pass_it():
    there = plan("traffic.0.direction=forward", "traffic.1.direction=reverse")
    assert cpu(there)["rate"] == round(8e5 / 0.25)
    back = plan("traffic.0.direction=reverse", "traffic.1.direction=forward")
    assert cpu(back)["rate"] == round(8e5 / 2)
    neither = plan("traffic.0.direction=reverse", "traffic.1.direction=reverse")
    assert cpu(neither)["rate"] == 800_000, "as at one cycle a bit"


def test_what_is_declared_reaches_the_queue_and_what_is_true_the_cores():
    link = cpu(plan('traffic.1.processing.declared="0.5 cycles/bit"'))
    assert link["cpu"]["work"][1] == {
        "per_bit": 1_000_000,
        "per_packet": 2_000_000_000,
        "density": 0.5,
    }


def test_a_cpu_may_treat_a_group_in_its_own_way():
    link = cpu(plan(f'{CPU}.processing.light="3 cycles/bit"'))
    assert [work["density"] for work in link["cpu"]["work"]] == [3.0, 2.0, 0.0]


def test_more_groups_than_packets_can_tell_apart_are_refused():
    table = from_toml(SMALL).to_dict()
    table["traffic"] = [{"kind": "cbr", "rate": "8 kbit/s", "packet": "100 B"}] * 257
    with pytest.raises(ScenarioError, match="got 257 groups, expected at most 256"):
        from_dict(table)
    del table["topology"]["bottleneck"]["cpu"]
    assert "class" not in compile(from_dict(table))["traffic"][0]


def test_graphs_and_parking_lots_have_cpus_at_any_link():
    graph = load(SCENARIOS / "graph.toml").to_dict()
    for link in graph["topology"]["links"]:
        link["cpu"] = {"clock": "9 Mcycles/s", "buffer": "50 packets"}
    ways = compile(from_dict(graph))
    names = [link["name"] for link in ways["links"]]
    assert [names[i] for i in ways["routes"][0]["forward"]] == ["ab/cpu", "ab", "bd/cpu", "bd"]
    lot = load(SCENARIOS / "parking-lot.toml").to_dict()
    lot["topology"]["hops"][1]["cpu"] = {"clock": "9 Mcycles/s", "buffer": "50 packets"}
    ways = compile(from_dict(lot))
    names = [link["name"] for link in ways["links"]]
    through = [names[i] for i in ways["routes"][0]["forward"]]
    assert through[1:-1] == ["hop 1", "hop 2/cpu", "hop 2", "hop 3"]


def test_a_scenario_with_cpus_reads_what_it_wrote():
    scenario = from_toml(SMALL)
    assert from_dict(scenario.to_dict()) == scenario
    assert scenario.to_dict()["traffic"][0]["processing"]["per_bit"] == "0.25 cycles/bit"


@pytest.fixture(scope="module")
def result() -> Result:
    return run(from_toml(SMALL))


def test_shares_of_groups_add_up_to_the_utilization(result: Result):
    for name in ("bottleneck/cpu", "bottleneck"):
        link = result.link(name)
        shares = link.shares()
        assert list(shares) == ["light", "heavy", "plain"]
        total = sum(each["share"].mean for each in shares.values())
        # A packet that is served at an edge counts whole in one sum, in part in the other: 12 kbit
        # of 16 Mbit, 4 kcycles of 3.2 Mcycles.
        assert total == pytest.approx(link.figures()["utilization"].mean, abs=2e-3)


def test_a_cpu_counts_cycles_and_a_link_bits(result: Result):
    cpu, link = (result.link(name).shares() for name in ("bottleneck/cpu", "bottleneck"))
    assert cpu["light"]["rate"].mean == pytest.approx(0.25 * link["light"]["rate"].mean, rel=0.01)
    # 50 packets of 250 bytes a second, each 2000 + 2000 cycles.
    assert cpu["heavy"]["rate"].mean == pytest.approx(50 * 4000, rel=0.03)
    assert cpu["plain"]["rate"].mean == 0.0
    assert result.link("bottleneck/cpu").unit == "cycles"


def test_summary_tables_and_report_show_both_resources(result: Result, tmp_path: Path):
    saved = save_with_report(result, tmp_path / "result")
    summary = json.loads((saved / "summary.json").read_text())
    groups = summary["measured"]["links"]["bottleneck/cpu"]["groups"]
    assert groups["light"]["share"]["n"] == 2
    assert Result.load(saved) == result
    page = (saved / "report.html").read_text()
    for text in (
        "400 kcycles/s, 2 cores",
        "CPU cycles that packets of each group of traffic need",
        "[Mcycles/s]",
    ):
        assert text in page
    assert "(per_bit" in page
    assert "{&#39;" not in page
    assert set(summary["optimum"]["pairs"]) == {"bottleneck"}
    columns = result.to_arrow("windows").column_names
    assert {"capacity_bits", "capacity_cycles"} <= set(columns)


def shares_of(scenario: Scenario, *overrides: str) -> dict[str, float]:
    """The share of the CPU of each group."""
    shares = run(with_overrides(scenario, overrides)).link("bottleneck/cpu").shares()
    return {group: each["share"].mean for group, each in shares.items()}


def test_who_lies_about_cycles_gets_more_until_they_are_measured():
    """Two groups alike but for what they declare, CPU-limited under DRQ."""
    table = load(SCENARIOS / "cpu.toml").to_dict()
    table |= {"duration": "30 s", "warmup": "10 s", "replications": 1}
    table["topology"]["bottleneck"]["cpu"]["clock"] = "5 Mcycles/s"
    table["traffic"] = [
        {"name": "honest", "kind": "tcp", "count": 10, "processing": "1 cycles/bit"},
        {
            "name": "liar",
            "kind": "tcp",
            "count": 10,
            "processing": {"per_bit": "1 cycles/bit", "declared": "0.25 cycles/bit"},
        },
    ]
    scenario = from_dict(table)
    trusted = shares_of(scenario)
    measured = shares_of(scenario, f"{CPU}.learning=0.01")
    # By (6) rates are as 1/w told: four to one. Half of that is far from chance, and once measured
    # both take as much, within a fifth as ten flows for 20 s do.
    assert trusted["liar"] > 2 * trusted["honest"]
    assert measured["liar"] == pytest.approx(measured["honest"], rel=0.2)


def test_flows_under_rfc_3168_at_a_drq_queue_are_named():
    scenario = load(SCENARIOS / "cpu.toml")
    changes = ["transport.default.ecn=true", "duration=3 s", "warmup=1 s", "replications=1"]
    said = run(with_overrides(scenario, changes)).summary()["warnings"]
    assert any("reads ECT as its state 10" in each and "transcode" in each for each in said)
    drq = [*changes, "transport.default.ecn_field=initial"]
    said = run(with_overrides(scenario, drq)).summary()["warnings"]
    assert not any("state 10" in each for each in said)


def test_the_region_follows_the_clock_and_the_optimum_stands_beside_the_shares():
    """Densities 0.25, 0.5, 1, 2 at 40 Mbit/s: CPU-limited up to w_h = 0.533 cycles/bit times that,
    bandwidth-limited from w_a = 0.9375 on (section II-B)."""
    scenario = load(SCENARIOS / "cpu.toml")
    brief = ["duration=2 s", "warmup=1 s", "replications=1"]
    regions = {}
    for clock in (20, 30, 40):
        optimum = run(with_overrides(scenario, [*brief, f"{CPU}.clock={clock} MHz"])).optimum
        assert isinstance(optimum, FairOptimum)
        regions[clock] = optimum.region
        if clock == 20:
            cpu = optimum.shares["bottleneck/cpu"]
            assert list(cpu.values()) == pytest.approx([0.25] * 4, rel=1e-6)
    assert regions == {20: "CPU-limited", 30: "jointly limited", 40: "bandwidth-limited"}


def test_why_there_is_no_optimum_is_said():
    table = load(SCENARIOS / "cpu.toml").to_dict() | {"duration": "1 s", "warmup": "0 s"}
    table["traffic"] = [
        {"kind": "cbr", "rate": "1 Mbit/s", "packet": "500 B", "processing": "1 cycles/bit"}
    ]
    result = run(from_dict(table | {"replications": 1}))
    assert "no TCP flows without end" in result.summary()["optimum"]["outside"]
