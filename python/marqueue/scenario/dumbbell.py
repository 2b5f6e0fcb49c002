"""The topology of a dumbbell, as a table of a scenario, from numbers in base units."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Links(Protocol):
    """The links of a dumbbell: times in seconds, rates in bit/s."""

    @property
    def rtts(self) -> Sequence[float]:
        """Round-trip times of the classes without queueing."""

    @property
    def rate(self) -> int:
        """Of the bottleneck."""

    @property
    def delay(self) -> float:
        """Of the bottleneck."""

    @property
    def access(self) -> int:
        """Rate of the other links."""

    @property
    def far(self) -> float:
        """Delay behind the bottleneck."""


def dumbbell(
    links: Links,
    *,
    buffer: int,
    aqm: Mapping[str, Any],
    signal: str,
    packet: int,
    own: bool = False,
) -> dict[str, Any]:
    """The topology with a buffer in packets of ``packet`` bytes at the bottleneck. With ``own``
    each flow has access links of its own."""
    return {
        "kind": "dumbbell",
        "rtts": [f"{rtt} s" for rtt in links.rtts],
        "bottleneck": {
            "rate": f"{links.rate} bit/s",
            "delay": f"{links.delay} s",
            "buffer": f"{buffer} packets",
            "aqm": aqm,
            "signal": signal,
            "packet": f"{packet} B",
        },
        "access": {
            "rate": f"{links.access} bit/s",
            "delay": f"{links.far} s",
            "per_flow": own,
        },
    }
