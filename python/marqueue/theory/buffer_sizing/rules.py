"""The link, its requirements, and rules for the size of a buffer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from marqueue.errors import ModelError, show, unknown

AQMS = ("droptail", "red", "avq", "codel", "scaled")

SMALL = 20
"""O(1), packets: the upper end of the range that Enachescu et al. (INFOCOM 2006) find
sufficient."""

A, B, OF_ONE = 0.2, 0.3, 12.0
"""Exponents of thresholds and buffer, and the buffer of one flow, packets (Eun and Wang 2008, Table
I)."""


@dataclass(frozen=True)
class Demand:
    """A link, its flows, and the required utilization and loss. Raises :class:`ModelError`."""

    capacity: float
    """bit/s."""
    flows: int
    rtt: float
    """Mean two-way propagation, s."""
    utilization: float
    """At least."""
    loss: float
    """Largest loss ratio: lost over arrived packets."""
    aqm: str = "droptail"
    packet: int = 1500
    """Size of a packet on the link, bytes."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("capacity", self.capacity, 1e3, 1e13),
            ("flows", self.flows, 1, 10**7),
            ("rtt", self.rtt, 1e-4, 10.0),
            ("utilization", self.utilization, 0.01, 0.9999),
            ("loss", self.loss, 0.0, 0.5),
            ("packet", self.packet, 100, 65_000),
        ):
            if not least <= value <= most:
                raise ModelError(f"--{name}: got {show(value)}, expected {least:g} to {most:g}")
        if self.aqm not in AQMS:
            raise ModelError(f"--aqm: {unknown(self.aqm, AQMS)}")
        if self.window < 1:
            raise ModelError(
                f"--flows: {self.flows} flows have {self.window:.2g} packets of C x RTT each, "
                "expected at least 1: below, TCP depends on timeouts, and no rule applies"
            )

    @property
    def packets_per_second(self) -> float:
        """The capacity."""
        return self.capacity / (8 * self.packet)

    @property
    def pipe(self) -> float:
        """C x RTT, packets."""
        return self.packets_per_second * self.rtt

    @property
    def gamma(self) -> float:
        """AVQ's gamma: half-way from the required utilization to 1."""
        return (1 + self.utilization) / 2

    @property
    def window(self) -> float:
        """Share of C x RTT of one flow, packets."""
        return self.pipe / self.flows


@dataclass(frozen=True)
class Rule:
    """A rule for the size of a buffer."""

    name: str
    source: str
    packets: Callable[[Demand], float]

    def buffer(self, demand: Demand) -> int:
        """The size of the buffer, packets, at least 1."""
        return max(1, math.ceil(self.packets(demand)))


RULES = (
    Rule("C x RTT", "Villamizar and Song 1994", lambda d: d.pipe),
    Rule("C x RTT / sqrt(N)", "Appenzeller et al. 2004", lambda d: d.pipe / math.sqrt(d.flows)),
    Rule("O(1)", "Enachescu et al. 2006", lambda _: SMALL),
    Rule("N^b", "Eun and Wang 2008", lambda d: OF_ONE * d.flows**B),
)


def red_thresholds(buffer: int) -> tuple[float, float]:
    """min_th and max_th of RED, packets: gentle RED reaches probability 1 at a full buffer."""
    return max(1.0, buffer / 6), max(2.0, buffer / 2)
