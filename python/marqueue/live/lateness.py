"""What packets that left late can have changed in a live result.

A packet that leaves late by e arrives together with those behind it. To first order this does two
things. A round trip takes longer by the lateness in both directions, so that a flow with a window
is slower by that part of its round trip. And a queue that gets the packets at once is longer by at
most what arrives in e, so that its delay differs by at most e. A stop that is long beside the round
trip does more than that: windows collapse and queues overflow. Then nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_STOP = 0.1
"""The longest lateness (99.9th percentile) that can be weighed, in round trips: a tenth of the
packets of a window come as a burst."""
LARGEST_EFFECT = 0.01
"""The largest effect on rates of a result that counts as valid though packets were late."""


@dataclass(frozen=True)
class Effect:
    """By how much lateness can have changed figures, in either direction."""

    round_trip: float
    """The least round-trip time of the network, s."""
    rate: float
    """Rates, as a part of their values."""
    delay_mean: float
    """Mean queueing delays, s."""
    delay_p99: float
    """99th percentiles of queueing delays, s."""

    @classmethod
    def of(cls, audit: Mapping[str, Any]) -> Effect | None:
        """The effect of the release errors of an audit; None if it cannot be told, because the
        network has no delay or the machine stopped for too long."""
        error, round_trip = audit["release_error"], audit.get("round_trip")
        if not round_trip or error["p999"] > LONGEST_STOP * round_trip:
            return None
        return cls(round_trip, 2 * error["mean"] / round_trip, error["mean"], error["p99"])

    @property
    def is_small(self) -> bool:
        """Whether the result counts as valid."""
        return self.rate <= LARGEST_EFFECT

    def in_words(self) -> str:
        """A sentence."""
        return (
            f"Beside a round trip of {self.round_trip * 1e3:g} ms this can have changed rates by "
            f"{self.rate:.2%}, mean queueing delays by {self.delay_mean * 1e6:.1f} us and their "
            f"99th percentiles by {self.delay_p99 * 1e6:.1f} us."
        )


def least_round_trip(plan: Mapping[str, Any]) -> float:
    """The least time that packets of a plan are on the way there and back, without queues, s."""
    delays = [link["delay"] / 1e9 for link in plan["links"]]
    ways = [(*route["forward"], *route["reverse"]) for route in plan["routes"]]
    return float(min(sum(delays[link] for link in way) for way in ways))
