"""The common TCP evaluation suite (draft-irtf-iccrg-tcpeval): loads, paths, measures, verdicts."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue import run
from marqueue.cli import app
from marqueue.evaluation import Effort
from marqueue.evaluation.case import MAIN
from marqueue.evaluation.criterion import Beside, Criterion, Side, Values, judge
from marqueue.evaluation.measures import goodput_of
from marqueue.evaluation.run_data import RunData
from marqueue.evaluation.tcpeval import TCPEVAL
from marqueue.evaluation.tcpeval.basic import BACK, LINKS, LOADS
from marqueue.evaluation.tcpeval.measures import greatest_step, time_to_window
from marqueue.scenario import Scenario
from marqueue.units import Duration, Rate

CASES = {case.name: case for case in TCPEVAL.cases}


def runs(name: str, effort: Effort = Effort.QUICK) -> dict[str, Scenario]:
    return dict(CASES[name].runs("cubic", effort))


def offered(scenario: Scenario, reverse: bool) -> float:
    """The load of a direction on the wire, bit/s: mean size over mean time between arrivals."""
    total = 0.0
    for group in scenario.to_dict()["traffic"]:
        if (group.get("direction") == "reverse") == reverse:
            packet = 536 if group["name"].endswith("small") else 1500
            rate, size = (float(group[key].split()[0]) for key in ("rate", "size"))
            total += 8 * packet * size * rate
    return total


def test_every_case_measures_what_its_criteria_judge() -> None:
    for case in TCPEVAL.cases:
        made = case.runs("prague", Effort.QUICK)
        measured = {each.name for each in case.measures}
        assert len(measured) == len(case.measures), f"{case.name}: two measures of one name"
        for each in case.criteria("prague"):
            assert each.run in made, case.name
            assert each.measure in measured, case.name


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_the_loads_of_section_4_2(link) -> None:
    for name, load in LOADS.items():
        made = runs(link.name)[name]
        links = made.to_dict()["topology"]["links"]
        rates = {each["name"]: Rate.parse(each["rate"]).base for each in links}
        there, back = offered(made, False), offered(made, True)
        if link.name == "wireless-lan":
            # 4.4.5: the load is the sum of both directions, of the nominal rate.
            assert there + back == pytest.approx(load * 6e6)
        else:
            assert there == pytest.approx(load * rates["bottleneck"])
        assert min(there / back, back / there) == pytest.approx(BACK)


def test_full_packets_have_the_nominal_rate_of_the_wireless_lan() -> None:
    table = runs("wireless-lan")[MAIN].to_dict()
    flood = {
        "kind": "cbr", "name": "flood", "rate": "20 Mbit/s", "packet": "1500 B",
        "classes": ["4-1"], "jitter": "0 s",
    }  # fmt: skip
    table |= {"traffic": [flood], "transport": {}, "duration": "22 s", "warmup": "2 s"}
    found = RunData(run(Scenario.model_validate(table), replications=2))
    rate = goodput_of(found, "flood")
    # 10 000 accesses a run, whose waits are exponential: a standard error of 0.8%.
    assert rate == pytest.approx(6e6, rel=0.03)


@pytest.mark.parametrize("name", ["ramp-up-80-80", "equal-20", "unequal-160-40"])
def test_a_gigabit_is_part_of_the_full_form(name: str) -> None:
    [large] = [each for each in TCPEVAL.cases if each.name == f"{name}-1g"]
    assert (list(large.forms), list(CASES[name].forms)) == ([Effort.FULL], list(Effort))
    [made] = large.runs("cubic", Effort.FULL).values()
    rates = {each["name"]: each["rate"] for each in made.to_dict()["topology"]["links"]}
    assert (rates["bottleneck"], made.replications) == ("1 Gbit/s", 3)
    # The background has half of the capacity (5.2.1).
    groups = [each for each in made.to_dict()["traffic"] if each["kind"] == "poisson"]
    forward = made.model_copy(update={"traffic": [
        each for each in made.traffic if each.kind == "poisson"
    ]})  # fmt: skip
    assert groups
    assert offered(forward, False) == pytest.approx(0.5e9)


def test_the_new_flow_has_no_slow_start() -> None:
    made = runs("ramp-up-80-80")[MAIN].to_dict()
    of = {each["name"]: made["transport"][each["transport"]] for each in made["traffic"]}
    assert of["new flow"]["initial_ssthresh"] == "10 packets"
    assert "initial_ssthresh" not in of["old"]


def test_a_case_of_the_full_form_is_no_case_of_the_quick_one() -> None:
    given = ["evaluate", "cc", "--suite", "tcpeval", "--control", "cubic", "--only", "equal-20-1g"]
    done = CliRunner().invoke(app, [*given, "--quick"])
    assert "--only: equal-20-1g is part of the full form alone, got --quick" in str(done.exception)


def test_one_connection_in_ten_has_small_packets() -> None:
    rates = {
        group["name"]: float(group["rate"].split()[0])
        for group in runs("access-link")[MAIN].to_dict()["traffic"]
    }
    assert rates["small"] / (rates["small"] + rates["large"]) == pytest.approx(0.1)


def round_trip(scenario: Scenario, name: str) -> float:
    """The propagation delay of a class there and back, ms, along its nodes in a row."""
    topology = scenario.to_dict()["topology"]
    [chosen] = [each for each in topology["classes"] if each["name"] == name]
    delays = {
        (each["from"], each["to"]): Duration.parse(each["delay"]).seconds
        for each in topology["links"]
    }
    delays |= {(end, begin): delay for (begin, end), delay in delays.items()}
    # Every way here is a tree: from the node to its router, over the routers, to the other node.
    ways = [[chosen["from"]]]
    while ways[0][-1] != chosen["to"]:
        way = ways.pop(0)
        ways += [[*way, end] for begin, end in delays if begin == way[-1] and end not in way]
    return 2e3 * sum(delays[leg] for leg in pairwise(ways[0]))


def test_the_round_trips_are_those_of_the_draft() -> None:
    # Table 1 has them for a central link without delay; that of the access link has 2 ms each way.
    table = {
        "4-1": 4, "4-2": 28, "4-3": 54, "5-1": 74, "5-2": 98, "5-3": 124, "6-1": 150, "6-2": 174,
        "6-3": 200,
    }  # fmt: skip
    access = runs("access-link")[MAIN]
    assert {path: round(round_trip(access, path) - 4, 6) for path in table} == table
    # Table 8.
    for old, new in ((80, 80), (120, 30), (30, 120)):
        made = runs(f"ramp-up-{old}-{new}")[MAIN]
        assert [round_trip(made, name) for name in ("old", "new")] == pytest.approx([old, new])
    made = runs("unequal-160-20")["buffer 25%"]
    assert [round_trip(made, name) for name in ("old", "new")] == pytest.approx([160, 20])
    # 6.3.1: all flows have 60 ms.
    lot = runs("multiple-bottlenecks")[MAIN]
    assert [round_trip(lot, name) for name in ("through", "A", "B", "C")] == pytest.approx([60] * 4)


class Traced:
    """A result with one window over time, whose warm-up ends at 10 s."""

    replications = 1
    edges = (0.0, 10.0, 20.0)

    def __init__(self, times: list[float], windows: list[float]) -> None:
        import pyarrow as pa

        self.table = pa.table({"replication": [0] * len(times), "t": times, "cwnd": windows})

    def span(self) -> tuple[float, float]:
        return 10.0, 20.0

    def to_arrow(self, name: str):
        return self.table


def test_a_window_is_awaited_from_the_transient_on() -> None:
    # The pipe has 100 packets; the window was there before the transient, and is again 2 s after.
    run = RunData(Traced([5.0, 9.0, 11.0, 12.0, 14.0], [95.0, 50.0, 58.0, 60.0, 91.0]))  # type: ignore[arg-type]
    assert [time_to_window(share, 100.0).of(run)[0] for share in (0.5, 0.6, 0.9)] == [0.0, 2.0, 4.0]
    assert math.isinf(time_to_window(0.95, 100.0).of(run)[0])
    # Round trips of 1 s: 50, 58, 60, 60, 91 packets at 10 to 14 s.
    assert greatest_step(100.0, 1.0).of(run)[0] == pytest.approx(0.31)


def test_a_variant_is_compared_with_that_of_the_baseline() -> None:
    def measured(main: float, other: float):
        def one(value: float) -> dict[str, Values]:
            return {"x": Values("X", "", 1.0, np.full(3, value))}

        return {"": one(main), "other": one(other)}

    criterion = Criterion("x", Side.AT_MOST, 1.5, "why", Beside.BASELINE, "other")
    mine = measured(10.0, 4.0)
    found = judge(criterion, mine, measured(1.0, 4.0), "reno")
    assert (found.value.mean, found.verdict) == (1.0, "pass")
    # A baseline that has the main run only is compared with as it is.
    found = judge(criterion, mine, {"": measured(1.0, 4.0)[""]}, "reno")
    assert (found.value.mean, found.verdict) == (4.0, "fail")


def test_the_command_compares_with_reno_at_each_load(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ["evaluate", "cc", "--suite", "tcpeval", "--control", "cubic", "--only", "dial-up"]
    done = CliRunner().invoke(app, [*given, "--quick", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    [case] = json.loads(done.stdout)["cases"]
    assert set(case["measures"]) == {"cubic", "reno"}
    assert all(set(of) == {"main", "60% load", "110% load"} for of in case["measures"].values())
    assert [each["limit"][-6:] for each in case["criteria"]] == ["reno's"] * 12
    # The offered load decides how busy the link is.
    busy = [case["measures"]["reno"][run]["utilization"]["mean"] for run in ("60% load", "main")]
    assert 0.5 < busy[0] < 0.7 < busy[1] < 0.95
    page = (out / "report.html").read_text()
    assert "Loss ratio against queueing delay, mean: a point for each variant" in page
