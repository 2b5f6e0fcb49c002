"""Two long flows, one of each of two kinds, at one queue."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from benches.coexistence.setups import AQMS, SENDERS, scenario
from marqueue.results import Result
from marqueue.simulation.run import run
from marqueue.statistics.estimates import Estimate

RTTS = (10, 20, 40, 80, 160)
"""Without queues, ms."""
WARMUP, SECONDS, REPLICATIONS = 15, 25, 5
PAIRS = tuple(combinations_with_replacement(SENDERS, 2))

Cell = dict[str, Estimate]
"""Figures by name: share of the first flow, Jain's index, p99 of the queueing delay (s) and
utilization."""


def goodputs(result: Result, group: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of all flows of a group together, bit/s, a value a replication."""
    return np.array(
        [8.0 * f.delivered.sum() / (f.end - f.begin) for f in result.flow_sets(group=group)]
    )


def measure(aqm: str, first: str, second: str, rtt: int) -> Cell:
    """The figures of one pair at one queue."""
    result = run(
        scenario(
            aqm, rtt, WARMUP, SECONDS, REPLICATIONS,
            *({"name": name, "kind": "tcp", "transport": law, "jitter": "5 s"}
              for name, law in (("first", first), ("second", second))),
        ),
        jobs=1,
    )  # fmt: skip
    one, two = (goodputs(result, group) for group in ("first", "second"))
    link = result.link("bottleneck").figures()
    return {
        "share": Estimate.of(one / (one + two)),
        "jain": result.traffic()["jain"],
        "delay_p99": link["delay_p99"],
        "utilization": link["utilization"],
    }


def cells() -> Iterator[tuple[tuple[str, str, str, int], Cell]]:
    """All cells, by AQM, first sender, second sender and round-trip time (ms)."""
    for aqm in AQMS:
        for first, second in PAIRS:
            for rtt in RTTS:
                yield (aqm, first, second, rtt), measure(aqm, first, second, rtt)
