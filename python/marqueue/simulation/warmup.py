"""A warm-up that is found rather than given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marqueue.results import Result
from marqueue.statistics.output_analysis import mser5
from marqueue.units import Duration


@dataclass(frozen=True)
class WarmupCut:
    """Where the transient ends, and which link has the longest."""

    at: Duration
    link: str
    settled: bool
    pilot: Result

    def as_dict(self) -> dict[str, Any]:
        """For the provenance."""
        return {
            "rule": "MSER-5",
            "at": self.at.seconds,
            "link": self.link,
            "settled": self.settled,
            "pilot_replications": self.pilot.replications,
        }


def find(pilot: Result) -> WarmupCut:
    """The latest of the cuts that MSER-5 makes in the links' queues.

    Each series is averaged over replications first: what they have in common is the transient, and
    noise goes down.
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
