"""Throughput and fairness: standard TCP, round-trip times, several bottlenecks (section 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.measures import delay, goodput, of_link
from marqueue.evaluation.tcpeval import limits
from marqueue.evaluation.tcpeval.basic import BACK
from marqueue.evaluation.tcpeval.latency import (
    ACCESS,
    GIGABIT,
    RAMP_LOAD,
    RAMP_UP,
    TEST_PATHS,
    TEST_RATE,
    forms_of,
    of_capacity,
    rate_text,
    suffix,
    test_flow,
    test_nodes,
)
from marqueue.evaluation.tcpeval.measures import CENTRAL, COMPLETION, ratio, sum_of, weaker
from marqueue.evaluation.tcpeval.network import (
    MEAN_RTT,
    Central,
    Edge,
    background,
    both_ways,
    dumbbell,
    edges,
    scenario,
)
from marqueue.scenario import Scenario

CAMPS = {"A": "standard", "B": "new"}
IMPACT_LOADS = {MAIN: 1.0, "50% load": 0.5}
IMPACT = (
    "The access link. Half of the load is of camp A, standard TCP, half of camp B, the control; in "
    "the baseline both are standard TCP. Loads of 100% (first) and 50%. Both camps have the same "
    "load, not the same connections."
)


def _impact(control: str, effort: Effort) -> Mapping[str, Scenario]:
    return {
        run: dumbbell(
            f"Beside standard TCP, load {load:.0%}", IMPACT, control, effort,
            ACCESS.central, edges(ACCESS.central.rate), {},
            [
                group
                for camp, transport in CAMPS.items()
                for group in background(
                    load / 2, ACCESS.central.rate, name=camp, transport=transport
                )
            ],
            seconds=ACCESS.seconds, warmup=ACCESS.warmup,
        )
        for run, load in IMPACT_LOADS.items()
    }  # fmt: skip


FLOWS = (10, 20, 40, 80, 160)
"""Round-trip times of section 6.2.2, ms."""
LONGEST = max(FLOWS)
FAIR_BUFFERS = {MAIN: 1.0, "buffer 25%": 0.25, "buffer 50%": 0.5, "buffer 200%": 2.0}
FAIR_TIMES = {"seconds": (180.0, 40.0), "warmup": (20.0, 5.0)}
"""Flows begin in the first tenth of the run, which is the warm-up."""


def _buffers(central: Central) -> Mapping[str, float]:
    return FAIR_BUFFERS if central is RAMP_UP else {MAIN: FAIR_BUFFERS[MAIN]}


def _fair_about(first: int, second: int, central: Central) -> str:
    shares = "100% (first), 25, 50 and 200%" if central is RAMP_UP else "100%"
    return (
        f"{rate_text(central)} with a background load of 50%, and two flows of {first} and "
        f"{second} ms. Buffers of {shares} of the bandwidth-delay product for 100 ms."
    )


def _fairness(
    first: int, second: int, central: Central, control: str, effort: Effort
) -> Mapping[str, Scenario]:
    begin = effort.pick(*FAIR_TIMES["warmup"])
    # Of two flows with the same round-trip time the order does not matter.
    wait = 0.0 if first == second else begin / 2
    delays = (0.0, 0.0, first / 2 - central.delay, second / 2 - central.delay)
    return {
        run: of_capacity(
            dumbbell(
                f"Two flows of {first} and {second} ms, {rate_text(central)}, buffer {share:.0%}",
                _fair_about(first, second, central), control, effort,
                replace(central, buffer=share * MEAN_RTT),
                [*edges(TEST_RATE), *test_nodes(delays)], TEST_PATHS,
                [
                    *both_ways(RAMP_LOAD, central, BACK),
                    test_flow("first", "old", jitter=f"{begin - wait:g} s"),
                    test_flow("second", "new", start=f"{wait:g} s", jitter=f"{begin - wait:g} s"),
                ],
                **FAIR_TIMES,
            ),
            central,
        )
        for run, share in _buffers(central).items()
    }  # fmt: skip


def _fairness_case(first: int, second: int, central: Central) -> Case[str]:
    def runs(control: str, effort: Effort) -> Mapping[str, Scenario]:
        return _fairness(first, second, central, control, effort)

    equal = first == second
    name = f"equal-{first}" if equal else f"unequal-{first}-{second}"
    title = f"Two flows of {first} ms" if equal else f"Flows of {first} and {second} ms"
    measures = [
        weaker("first", "second"), goodput("first"), goodput("second"),
        ratio("second over first", "Goodput, second over first", ["second"], ["first"]),
    ]  # fmt: skip
    return Case(
        f"{name}{suffix(central)}", "6.2", f"{title}, {rate_text(central)}",
        _fair_about(first, second, central), runs, (*CENTRAL, *measures),
        lambda control: [limits.as_fair(run) for run in _buffers(central)], baselines=runs,
        forms=forms_of(central),
    )  # fmt: skip


HOPS = ("A", "B", "C")
HOP = Central(100, 10.0, 60.0)
"""A bottleneck; the buffer is that of the authors' scripts, the draft names none."""
HOP_LOADS = {MAIN: 0.5, "30% each": 0.3, "40% each": 0.4}
"""Load of each source; two share a bottleneck."""
NODES = {
    "through": (("1", 0.0, "R1"), ("8", 0.0, "R4")),
    "A": (("2", 10.0, "R1"), ("3", 10.0, "R2")),
    "B": (("4", 10.0, "R2"), ("5", 10.0, "R3")),
    "C": (("6", 10.0, "R3"), ("7", 10.0, "R4")),
}
"""The two ends of each class: node, delay of its edge link, ms, and router (figure 10)."""
MULTIPLE = (
    "Three links of 100 Mbit/s and 10 ms in a row. Connections over all three and over one have "
    "round trips of 60 ms. Each source offers 50% (first), 30% and 40%, two share a link."
)


def _multiple(control: str, effort: Effort) -> Mapping[str, Scenario]:
    links = [
        {**link, "name": f"{hop}{' back' * (link['name'] == 'back')}",
         "from": f"R{i + (link['name'] == 'back')}", "to": f"R{i + (link['name'] != 'back')}"}
        for i, hop in enumerate(HOPS, 1)
        for link in HOP.links()
    ]  # fmt: skip
    links += [
        Edge(node, router, delay, TEST_RATE).link(HOP.service)
        for ends in NODES.values()
        for node, delay, router in ends
    ]
    classes = [
        {"name": name, "from": begin, "to": end} for name, ((begin, *_), (end, *_)) in NODES.items()
    ]
    return {
        run: scenario(
            f"Three bottlenecks, {load:.0%} of each source", MULTIPLE, control, effort, links,
            classes,
            [
                group
                for name in NODES
                for share, label, more in (
                    (load, name, {}), (load * BACK, f"{name} back", {"direction": "reverse"}),
                )
                for group in background(share, HOP.rate, name=label, classes=[name], **more)
            ],
            seconds=(120.0, 12.0), warmup=(30.0, 6.0),
        )
        for run, load in HOP_LOADS.items()
    }  # fmt: skip


def _groups(names: tuple[str, ...]) -> list[str]:
    return [f"{name} {size}" for name in names for size in ("large", "small")]


MULTIPLE_MEASURES = (
    *(of_link("utilization", f"Utilization, {hop}", link=hop) for hop in HOPS),
    *(of_link("loss_ratio", f"Loss ratio, {hop}", link=hop) for hop in HOPS),
    *(delay(link=hop) for hop in HOPS),
    goodput(), COMPLETION,
    ratio("through over single", "Goodput over three bottlenecks over that over one",
          _groups(("through",)), _groups(HOPS)),
)  # fmt: skip


def cases() -> Iterator[Case[str]]:
    """The cases of section 6."""
    yield Case(
        "impact", "6.1", "Impact on standard TCP", IMPACT, _impact,
        (*CENTRAL, COMPLETION, sum_of("A", _groups(("A",))), sum_of("B", _groups(("B",)))),
        lambda control: [limits.steals_nothing(run) for run in IMPACT_LOADS], baselines=_impact,
        through=(("goodput of A", "goodput of B"),),
    )  # fmt: skip
    for central in (RAMP_UP, GIGABIT):
        for rtt in FLOWS:
            yield _fairness_case(rtt, rtt, central)
        for rtt in FLOWS[:-1]:
            yield _fairness_case(LONGEST, rtt, central)
    yield Case(
        "multiple-bottlenecks", "6.3", "Multiple bottlenecks", MULTIPLE, _multiple,
        MULTIPLE_MEASURES,
        lambda control: [
            limit(run)
            for run in HOP_LOADS
            for limit in (limits.reaches_through, limits.finishes)
        ],
        baselines=_multiple,
    )  # fmt: skip
