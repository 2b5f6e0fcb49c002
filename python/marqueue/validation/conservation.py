"""Conservation of packets and bytes: arrivals = departures + losses + queue.

Each term is counted independently: the first three by the queue's counters in each window, the
queue by the sample at the window's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.scenario.parameters import aqms
from marqueue.statistics.estimates import Estimate
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

Settings = Mapping[str, Any]

WINDOWS = ["4 s", "9 s"]
"""Ends of windows, besides the end of the run: multiples of the sampling interval."""

EXACT = "Packets and bytes are integers; the sum must be exact."

LONG: Settings = {"name": "long", "kind": "tcp", "count": 12}
SHORT: Settings = {"name": "short", "kind": "poisson", "rate": "8 /s", "size": "12 packets"}
CBR: Settings = {
    "name": "cbr", "kind": "cbr", "count": 2, "rate": "600 kbit/s", "packet": "700 B"
}  # fmt: skip
PACKETS: Settings = {
    "name": "packets", "kind": "packets", "rate": "150 /s", "packet": "400 B",
    "sizes": "exponential",
}  # fmt: skip


def queue(aqm: object, **changes: object) -> dict[str, object]:
    """A bottleneck's table."""
    usual = {"rate": "6 Mbit/s", "delay": "4 ms", "buffer": "40 packets", "aqm": aqm}
    return usual | changes


def scenario(
    name: str, topology: Settings, traffic: Sequence[Settings], replications: int
) -> Scenario:
    """Twelve seconds from the start of the flows, where queues vary most."""
    return from_dict(
        {
            "name": name,
            "duration": "12 s",
            "cuts": WINDOWS,
            "sample": "0.5 s",
            "replications": replications,
            "topology": dict(topology),
            "transport": {"default": {"preset": "rfc", "ecn": True}},
            "traffic": [dict(each) for each in traffic],
        }
    )


def dumbbell(bottleneck: Settings, **changes: object) -> Settings:
    """A dumbbell with two round-trip times."""
    usual: Settings = {"kind": "dumbbell", "rtts": ["31 ms", "74 ms"], "bottleneck": bottleneck}
    return {**usual, **changes}


def scenarios(replications: int) -> Iterator[Scenario]:
    """Every AQM with signal ecn and with signal drop, and other features of queues."""
    mixed = [LONG, SHORT, CBR, PACKETS]
    for signal in ("ecn", "drop"):
        for aqm in aqms():
            name = f"{aqm}, signal {signal}"
            yield scenario(name, dumbbell(queue(aqm, signal=signal)), mixed, replications)
    in_bytes = queue("red", buffer="30 kB")
    yield scenario("red, buffer in bytes", dumbbell(in_bytes), mixed, replications)
    changing = queue(
        "codel",
        schedule=[{"at": "3.3 s", "rate": "1 Mbit/s"}, {"at": "7.7 s", "rate": "20 Mbit/s"}],
    )
    yield scenario("codel, changing rate", dumbbell(changing), mixed, replications)
    thin = queue("droptail", rate="300 kbit/s", buffer="5 packets")
    yield scenario("droptail, acknowledgements lost", dumbbell(queue("pie"), reverse=thin),
                   [LONG, SHORT], replications)  # fmt: skip
    hops = [queue("avq"), queue("red", rate="5 Mbit/s"), queue("codel", rate="4 Mbit/s")]
    yield scenario("parking lot", {"kind": "parking-lot", "hops": hops}, mixed, replications)


def imbalance(result: Result) -> float:
    """The largest difference, in packets or bytes, over all links, windows and replications."""
    most = 0.0
    for name in result.links:
        link = result.link(name)
        t, waiting = link.series("queue")
        _, waiting_bytes = link.series("queue_bytes")
        for replication in range(result.replications):
            left, left_bytes = 0, 0
            for window, end in enumerate(result.edges[1:]):
                w = link.windows(window)[replication]
                at = replication, int(np.flatnonzero(t == end)[0])
                left += w.arrivals - w.departures - w.dropped
                left_bytes += w.arrived_bytes - w.departed_bytes - w.dropped_bytes
                most = max(most, abs(left - waiting[at]), abs(left_bytes - waiting_bytes[at]))
    return most


def checks(bench: TaskRunner, of: Scenario) -> list[Check]:
    """The checks of packets and bytes of one scenario."""
    result = bench.run(of)
    seen = sum(w.arrivals for name in result.links for w in result.link(name).windows())
    what = f"{of.name}: {seen:,} arrivals"
    law = "arrivals = departures + losses + queue"
    return [Check(what, law, Estimate(imbalance(result), None, 1), 0.0, 0.0, EXACT)]


def tasks(effort: Effort) -> list[Task]:
    """A task per scenario."""
    replications = effort.pick(4, 1)
    return [
        Task(each.name, 0.15 * replications, partial(checks, of=each))
        for each in scenarios(replications)
    ]


CONSERVATION = Rung(
    "conservation",
    "nothing appears or vanishes",
    "Long and short TCP flows, constant-rate and random packets over every AQM; the largest "
    "difference at any queue, window's end and replication.",
    tasks,
)
