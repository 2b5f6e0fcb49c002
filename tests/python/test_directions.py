"""Groups of traffic side by side: data both ways, ECN for some and not for others."""

from typing import Any

import numpy as np
import pytest

from conftest import EXAMPLES
from marqueue import run
from marqueue.scenario import class_names, compile, from_toml, load, route_classes
from marqueue.scenario.model import Scenario
from small_scenario import SMALL

BACK = 'topology.reverse={rate="10 Mbit/s",delay="5 ms",buffer="50 packets"}'
TURNED = "traffic.long.direction=reverse"


def example(name: str, *overrides: str) -> Scenario:
    [path] = [path for path in EXAMPLES if path.stem == name]
    return load(path, overrides)


def test_reverse_traffic_takes_the_ways_of_its_classes_the_other_way_round():
    scenario = from_toml(SMALL, [TURNED, 'traffic.long.classes=["80 ms"]'])
    plan = compile(scenario)
    _, far, turned = plan["routes"]
    assert (turned["forward"], turned["reverse"]) == (far["reverse"], far["forward"])
    long, short = plan["traffic"]
    assert (long["name"], long["kind"]["tcp"]["route"]) == ("long/80 ms", 2)
    assert short["kind"]["poisson"]["routes"] == [0, 1]
    assert class_names(scenario) == ["40 ms", "80 ms"]
    assert route_classes(scenario) == ["40 ms", "80 ms", "80 ms"]


def test_traffic_that_goes_forward_needs_no_further_route():
    assert compile(from_toml(SMALL, ["traffic.long.direction=forward"])) == compile(
        from_toml(SMALL)
    )


def test_reverse_traffic_is_counted_under_its_own_group_and_class():
    result = run(from_toml(SMALL, [BACK, TURNED]))
    assert result.classes == ["40 ms", "80 ms"]
    assert result.groups == ["long", "short"]
    flows = result.to_arrow("flows").to_pylist()
    assert {flow["class"] for flow in flows if flow["group"] == "long"} == {"40 ms", "80 ms"}
    long = result.traffic(group="long")["goodput"].mean
    # Only acknowledgements of the long flows and the short flows' data go there.
    assert result.link("reverse").figures()["utilization"].mean * 10e6 > long > 5e6
    assert result.link("bottleneck").figures()["utilization"].mean < 0.4


@pytest.mark.parametrize(
    ("overrides", "one_way", "unheld"),
    [([], True, False), ([TURNED], False, True), ([BACK, TURNED], False, False)],
)
def test_a_reader_is_warned_of_one_way_traffic_and_of_tcp_without_a_queue(
    overrides: list[str], one_way: bool, unheld: bool
):
    warnings = run(from_toml(SMALL, overrides)).summary()["warnings"]
    assert any(w.startswith("One-way traffic") for w in warnings) == one_way
    told = "TCP flows without a managed queue on their route: long."
    assert any(w.startswith(told) for w in warnings) == unheld


def test_two_way_traffic_leaves_capacity_unused():
    both = run(example("two-way", "duration=60 s"))
    one = run(example("two-way", "duration=60 s", "traffic.back.start=59 s", "warmup=10 s"))
    used = both.link("bottleneck").figures()["utilization"]
    alone = one.link("bottleneck").figures()["utilization"]
    assert used.mean + 0.02 < alone.mean


def test_red_marks_those_that_speak_ecn_and_drops_the_others():
    result = run(example("ecn-mix", "replications=1", "topology.bottleneck.trace=true"))
    flows = result.to_arrow("flows").to_pandas()
    group = flows["group"].to_numpy()
    trace = result.to_arrow("trace").to_pandas()
    at_the_queue: dict[str, dict[str, Any]] = {
        kind: {name: int(np.sum(group[rows["flow"]] == name)) for name in result.groups}
        for kind, rows in trace.groupby("kind")
    }
    assert at_the_queue["mark"]["without"] == 0
    assert at_the_queue["mark"]["with ECN"] > 500
    assert at_the_queue["drop"]["without"] > 500
    # Of flows that speak ECN RED may drop the SYN only; a full buffer drops whatever comes.
    assert at_the_queue["drop"]["with ECN"] < 0.05 * at_the_queue["drop"]["without"]
    counts = {name: result.run_totals(group=name) for name in result.groups}
    assert counts["without"]["ecn_cuts"].mean == 0 < counts["with ECN"]["ecn_cuts"].mean
    few, many = (counts[name]["retransmits"].mean for name in ("with ECN", "without"))
    assert few < 0.05 * many
    # The same probability for all: as often marked as dropped, in proportion to what arrives.
    arrived = {n: at_the_queue["depart"][n] + at_the_queue["drop"][n] for n in result.groups}
    marked = at_the_queue["mark"]["with ECN"] / arrived["with ECN"]
    dropped = at_the_queue["drop"]["without"] / arrived["without"]
    assert marked == pytest.approx(dropped, rel=0.25)
