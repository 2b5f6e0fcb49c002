"""Latency: the trade-off of delay and throughput, ramp-up, and transients (section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.criterion import Criterion
from marqueue.evaluation.measures import Measure
from marqueue.evaluation.tcpeval import limits
from marqueue.evaluation.tcpeval.basic import BACK, LINKS
from marqueue.evaluation.tcpeval.measures import (
    BACKWARD,
    CENTRAL,
    COMPLETION,
    delivery_time,
    greatest_step,
    lost_packets,
    time_to_window,
)
from marqueue.evaluation.tcpeval.network import (
    MBIT,
    MEAN_RTT,
    NO_SLOW_START,
    PACKET,
    Central,
    Edge,
    both_ways,
    dumbbell,
    edges,
    scenario,
)
from marqueue.scenario import Scenario

[ACCESS] = [link for link in LINKS if link.name == "access-link"]
BUFFERS = {MAIN: 1.0, "buffer 10%": 0.1, "buffer 20%": 0.2, "buffer 50%": 0.5, "buffer 200%": 2.0}
"""Shares of the bandwidth-delay product for 100 ms (5.1.1)."""
LOAD = 0.85
TRADEOFF = (
    "The access link at a load of 85%, with buffers of 100% (first), 10, 20, 50 and 200% of the "
    "bandwidth-delay product for 100 ms."
)


def _tradeoff(control: str, effort: Effort) -> Mapping[str, Scenario]:
    return {
        run: dumbbell(
            f"Access link, buffer of {share:.0%} of the product", TRADEOFF, control, effort,
            replace(ACCESS.central, buffer=share * MEAN_RTT), ACCESS.ends, {},
            both_ways(LOAD, ACCESS.central, BACK), seconds=ACCESS.seconds, warmup=ACCESS.warmup,
        )
        for run, share in BUFFERS.items()
    }  # fmt: skip


RAMP_UP = Central(10, 2.0, 80.0)
GIGABIT = replace(RAMP_UP, rate=1000.0)
"""The second capacity of 5.2 and 6.2. Its runs have millions of packets: the full form alone has
them, with as many replications as the draft asks for at least (5.2.3)."""
LEAST_RUNS = 3
RAMP_LOAD = 0.5
"""Load of the background traffic (5.2.1)."""
DELAYS = {
    (80, 80): (0.0, 0.0, 38.0, 38.0), (120, 30): (23.0, 12.0, 35.0, 1.0),
    (30, 120): (12.0, 23.0, 1.0, 35.0),
}  # fmt: skip
"""Table 8: round trips of the old and the new flow, and delays of the nodes T1 to T4, ms."""
TEST_RATE = 1000.0
ARRIVALS = {RAMP_UP.rate: (100, 1000), GIGABIT.rate: (100, 1000, 10_000)}
"""By capacity the numbers of packets whose arrival is judged: 1500 * 10^n bytes for n = 2, 3 and 4
(5.2.3)."""
START = 20.0
"""When the old flow has left slow start, s."""


def test_flow(name: str, path: str, **more: Any) -> dict[str, Any]:
    """An unlimited flow under test."""
    return {"kind": "tcp", "name": name, "classes": [path], **({"transport": "new"} | more)}


def test_nodes(delays: Sequence[float]) -> list[Edge]:
    """The nodes T1 and T2 on the left, T3 and T4 on the right."""
    sides = ("left", "left", "right", "right")
    return [
        Edge(f"T{i}", side, delay, TEST_RATE)
        for i, (side, delay) in enumerate(zip(sides, delays, strict=True), 1)
    ]


TEST_PATHS = {"old": ("T3", "T1"), "new": ("T4", "T2")}
RECEIVER = "edge T2"
"""The link of the new flow's receiver, which no other packets pass."""
TO_RECEIVER = f"{RECEIVER}/back"
"""Its direction towards the node, by its name in records of packets."""


def rate_text(central: Central) -> str:
    """The capacity, for titles."""
    return f"{central.rate:g} Mbit/s" if central.rate < 1000 else f"{central.rate / 1000:g} Gbit/s"


def suffix(central: Central) -> str:
    """What names of cases of the second capacity end with."""
    return "" if central is RAMP_UP else "-1g"


def forms_of(central: Central) -> tuple[Effort, ...]:
    """The forms that have cases of a capacity."""
    return tuple(Effort) if central is RAMP_UP else (Effort.FULL,)


def _ramp_about(old: int, new: int, central: Central) -> str:
    return (
        f"{rate_text(central)} with a background load of 50%. A flow of {old} ms is there, one of "
        f"{new} ms begins at 20 s in congestion avoidance: its slow start threshold is its initial "
        "window, as after a loss in the first round trip. Controls without such a threshold start "
        "as always."
    )


def _ramp_up(old: int, new: int, central: Central, control: str, effort: Effort) -> Scenario:
    ends = [*edges(TEST_RATE), *test_nodes(DELAYS[old, new])]
    traffic = [
        *both_ways(RAMP_LOAD, central, BACK),
        test_flow("old", "old", jitter="1 s"),
        test_flow("new flow", "new", start=f"{START:g} s", jitter="1 s",
                  transport=f"new{NO_SLOW_START}"),
    ]  # fmt: skip
    made = dumbbell(
        f"Ramp-up, {old} and {new} ms, {rate_text(central)}", _ramp_about(old, new, central),
        control, effort, central, ends, TEST_PATHS, traffic,
        seconds=(280.0, 80.0) if central is RAMP_UP else (60.0, 60.0), warmup=(START, START),
    )  # fmt: skip
    return of_capacity(traced(made, RECEIVER), central)


def of_capacity(made: Scenario, central: Central) -> Scenario:
    """The scenario with the replications of its capacity."""
    return made if central is RAMP_UP else made.model_copy(update={"replications": LEAST_RUNS})


def traced(made: Scenario, name: str) -> Scenario:
    """The scenario with every packet of a link recorded."""
    table = made.to_dict()
    for link in table["topology"]["links"]:
        if link["name"] == name:
            link["trace"] = True
    return Scenario.model_validate(table)


def _ramp_case(old: int, new: int, central: Central) -> Case[str]:
    def runs(control: str, effort: Effort) -> Mapping[str, Scenario]:
        return {MAIN: _ramp_up(old, new, central, control, effort)}

    judged = ARRIVALS[central.rate]
    measures = [delivery_time("new flow", packets, TO_RECEIVER) for packets in (10, *judged)]
    return Case(
        f"ramp-up-{old}-{new}{suffix(central)}", "5.2",
        f"Ramp-up, {old} and {new} ms, {rate_text(central)}",
        _ramp_about(old, new, central), runs, (*CENTRAL, *measures),
        lambda control: [limits.arrives(packets) for packets in judged], forms=forms_of(central),
    )  # fmt: skip


RATE, RTT, BUFFER = 100.0, 100.0, 1024
"""The network of section 5.3: Mbit/s, ms, packets."""
PIPE = RATE * MBIT * RTT / 1e3 / 8 / PACKET
CROSS, STEPS = 75.0, 30
"""Unresponsive traffic, Mbit/s, and the number of steps in the third transient."""
LAST = 2.0
"""Time without cross traffic at the end, s, in which its last packets arrive."""
SHARES = (0.6, 0.8, 0.9)
TRANSIENT_SECONDS = (102.0, 42.0)
"""From the transient on: 100 s, or 40 s in the quick form."""
BEFORE = 30.0, 10.0
"""Until the transient."""


def _cross(name: str, rate: float, start: float, stop: float) -> dict[str, Any]:
    return {
        "kind": "cbr", "name": name, "rate": f"{rate:g} Mbit/s", "packet": f"{PACKET} B",
        "classes": ["cross"], "start": f"{start:g} s", "stop": f"{stop:g} s", "jitter": "0 s",
    }  # fmt: skip


TRANSIENTS = {
    "decrease": ("Release of bandwidth", "Unresponsive traffic of 75 Mbit/s ends"),
    "increase": ("Arrival of traffic at once", "Unresponsive traffic of 75 Mbit/s begins"),
    "steps": ("Arrival of traffic in steps",
              "Unresponsive traffic begins in 30 steps of 2.5 Mbit/s, one a second"),
}  # fmt: skip
CROSS_GROUPS = {"increase": ["cross"], "steps": [f"cross {i + 1}" for i in range(STEPS)]}


def _cross_traffic(which: str, at: float, end: float) -> list[dict[str, Any]]:
    if which == "decrease":
        return [_cross("cross", CROSS, 0.0, at)]
    groups = CROSS_GROUPS[which]
    return [_cross(name, CROSS / len(groups), at + i, end - LAST) for i, name in enumerate(groups)]


def _transient_about(which: str) -> str:
    return (
        f"One flow of 100 ms over 100 Mbit/s with a buffer of 1024 packets. "
        f"{TRANSIENTS[which][1]}, after 30 s (10 s in the quick form)."
    )


def _transient(which: str, control: str, effort: Effort) -> Scenario:
    at = effort.pick(*BEFORE)
    end = at + effort.pick(*TRANSIENT_SECONDS)
    central = Central(RATE, 2.0, BUFFER, in_packets=True)
    ends = [
        Edge(name, side, (RTT / 2 - 2.0) if name == "T2" else 0.0, TEST_RATE)
        for name, side in (("T1", "left"), ("T2", "right"), ("U1", "left"), ("U2", "right"))
    ]
    classes = [
        {"name": "test", "from": "T2", "to": "T1"}, {"name": "cross", "from": "U2", "to": "U1"},
    ]  # fmt: skip
    traffic = [test_flow("test", "test", trace=True, jitter="1 s"), *_cross_traffic(which, at, end)]
    return scenario(
        TRANSIENTS[which][0], _transient_about(which), control, effort,
        [*central.links(), *(each.link(central.service) for each in ends)], classes, traffic,
        seconds=TRANSIENT_SECONDS, warmup=BEFORE,
    )  # fmt: skip


def _transient_case(which: str) -> Case[str]:
    def runs(control: str, effort: Effort) -> Mapping[str, Scenario]:
        return {MAIN: _transient(which, control, effort)}

    measures: list[Measure]
    criteria: list[Criterion]
    if which == "decrease":
        # The transient is at the end of the warm-up.
        measures = [time_to_window(share, PIPE) for share in SHARES]
        measures.append(greatest_step(PIPE, RTT / 1e3))
        criteria = [*(limits.takes_up(share) for share in SHARES), limits.grows_gently()]
    else:
        measures = [lost_packets(CROSS_GROUPS[which], PACKET)]
        criteria = [limits.gives_way()]
    return Case(
        f"transient-{which}", "5.3", TRANSIENTS[which][0], _transient_about(which), runs,
        (*CENTRAL, *measures), lambda control: criteria,
    )  # fmt: skip


def cases() -> Iterator[Case[str]]:
    """The cases of section 5."""
    yield Case(
        "tradeoff", "5.1", "Delay and throughput by buffer", TRADEOFF, _tradeoff,
        (*CENTRAL, *BACKWARD, COMPLETION),
        lambda control: [
            limit(run)
            for run in BUFFERS
            for limit in (limits.carries, limits.loses_no_more, limits.queues_no_more)
        ],
        baselines=_tradeoff, through=(("delay_mean", "goodput"), ("delay_mean", "loss_ratio")),
    )  # fmt: skip
    for central in (RAMP_UP, GIGABIT):
        for old, new in DELAYS:
            yield _ramp_case(old, new, central)
    for which in TRANSIENTS:
        yield _transient_case(which)
