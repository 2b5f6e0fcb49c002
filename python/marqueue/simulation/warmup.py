"""Finding the warm-up of a run in a pilot (``warmup = "auto"``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marqueue.results import Result
from marqueue.statistics.output_analysis import mser5
from marqueue.units import Duration


@dataclass(frozen=True)
class WarmupCut:
    """The end of the transient, and the link with the longest one."""

    at: Duration
    link: str
    settled: bool
    pilot: Result

    def as_dict(self) -> dict[str, Any]:
        """The entry of the provenance."""
        return {
            "rule": "MSER-5",
            "at": self.at.seconds,
            "link": self.link,
            "settled": self.settled,
            "pilot_replications": self.pilot.replications,
        }


def find_warmup(pilot: Result) -> WarmupCut:
    """The latest cut of MSER-5 over the queues of all links.

    Each series is first averaged over replications, which reduces noise and keeps the transient.
    """
    found = {}
    for name in pilot.links:
        _, queue = pilot.link(name).series("queue")
        found[name] = mser5(queue.mean(axis=0))
    link = max(found, key=lambda name: found[name].samples)
    return WarmupCut(
        Duration(found[link].samples * pilot.plan["sample"]),
        link,
        all(each.settled for each in found.values()),
        pilot,
    )
