"""Parameters of a chain of windows, validated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import marqueue._core as _core
from marqueue.errors import ModelError, show, unknown

MOST_FLOWS = 2**31 - 1
"""Largest number of flows: beyond, rounding of 1 - p would distort binomial draws."""

MOST_SLOTS = 100
"""Most slots in T."""

QUEUES = ("mm1", "md1")

SCHEMES = {"RED1": "red:2:10:0.2", "RED2": "red:4:11:0.05", "EXP": "exp:10:0.2"}
"""The marking functions of Table I of the paper."""


@dataclass(frozen=True)
class RttClass:
    """Flows with the same round-trip time."""

    rtt: float
    """Over T."""
    share: float
    """Share of all flows, up to a common factor."""


@dataclass(frozen=True)
class Model:
    """N flows under marking of scale N^a (Eun and Wang 2008, section III), in packets and units of
    the round-trip time T. Raises :class:`ModelError` for invalid values."""

    flows: int
    """N."""
    ct: float
    """CT: packets per flow that the link carries in T."""
    a: float = 0.2
    """The exponent of the thresholds."""
    marking: str = SCHEMES["RED1"]
    """Marking function of one flow, as for the AQM ``scaled``, or a name of Table I."""
    b: float | None = None
    """Exponent of the buffer; by default a + 0.1 as in the paper."""
    buffer: float = 12.0
    """Buffer of one flow, packets."""
    queue: str = "mm1"
    """mm1 or md1."""
    greatest: int | None = None
    """Largest window, packets; by default 4 CT and at least 20."""
    classes: tuple[RttClass, ...] = (RttClass(1.0, 1.0),)
    slots: int | None = None
    """Slots in T; by default the smallest number that makes all round-trip times whole. With one
    class and one slot all flows change their windows together, as in the paper's chain."""

    def __post_init__(self) -> None:
        _within("flows", self.flows, 1, MOST_FLOWS)
        _within("ct", self.ct, 1e-3, 1e6)
        _within("a", self.a, 0.0, 2.0)
        _within("b", self.exponent, 0.0, 2.0)
        _within("buffer", self.buffer, 0.0, 1e9)
        _within("greatest window", self.window, 2, 100_000)
        if self.queue not in QUEUES:
            raise ModelError(f"queue: {unknown(self.queue, QUEUES)}")
        try:
            _ = self.at
        except ValueError as error:
            raise ModelError(
                f"marking: got {show(self.marking)}, expected {error}; or {', '.join(SCHEMES)}"
            ) from None
        if not self.classes:
            raise ModelError("rtt-classes: got none, expected at least one")
        for each in self.classes:
            _within("rtt-classes, RTT over T", each.rtt, 1e-2, 1e2)
            _within("rtt-classes, share", each.share, 1e-9, 1e9)
        if min(self.counts) < 1:
            raise ModelError(
                f"rtt-classes: {len(self.classes)} classes of {self.flows} flows leave one empty"
            )
        _ = self.steps_per_rtt

    @property
    def exponent(self) -> float:
        """Exponent of the buffer, b."""
        return round(self.a + 0.1, 12) if self.b is None else self.b

    @property
    def window(self) -> int:
        """Largest window, packets."""
        return max(20, math.ceil(4 * self.ct)) if self.greatest is None else self.greatest

    @property
    def scaled(self) -> tuple[str, float, float, float, float]:
        """Marking function and buffer for N flows, in the form of the extension module."""
        text = SCHEMES.get(self.marking.upper(), self.marking)
        return text, float(self.flows), self.a, self.exponent, self.buffer

    @property
    def at(self) -> _core.ChainQueue:
        """The queue under this marking."""
        return _core.ChainQueue(self.scaled, self.queue)

    @property
    def counts(self) -> list[int]:
        """Flows of each class, rounded so that their sum is N."""
        total = math.fsum(each.share for each in self.classes)
        counts, given, upto = [], 0, 0.0
        for each in self.classes:
            upto += each.share
            now = round(upto / total * self.flows)
            counts.append(now - given)
            given = now
        return counts

    @property
    def steps_per_unit(self) -> int:
        """Slots in T."""
        if self.slots is not None:
            _within("slots", self.slots, 1, MOST_SLOTS)
            return self.slots
        parts = [Fraction(each.rtt).limit_denominator(MOST_SLOTS) for each in self.classes]
        return math.lcm(*(part.denominator for part in parts))

    @property
    def steps_per_rtt(self) -> list[int]:
        """Slots in the round-trip time of each class."""
        slots = self.steps_per_unit
        whole = [round(each.rtt * slots) for each in self.classes]
        for each, n in zip(self.classes, whole, strict=True):
            if slots > MOST_SLOTS or n < 1 or abs(each.rtt * slots - n) > 1e-6 * n:
                raise ModelError(
                    f"rtt-classes: got {each.rtt:g} T in slots of T/{slots}, expected round-trip "
                    f"times that are whole numbers of T/n with one n up to {MOST_SLOTS}"
                )
        return whole

    @property
    def mean_rate(self) -> float:
        """E[T/T_i]: load of a packet of window relative to one with round-trip time T."""
        pairs = zip(self.counts, self.classes, strict=True)
        return math.fsum(n / each.rtt for n, each in pairs) / self.flows

    def start(self, seed: int, name: str) -> _core.WindowChain:
        """The chain in its initial state, windows spread over 1 to 2 CT."""
        return _core.WindowChain(
            self.scaled,
            self.queue,
            list(zip(self.counts, self.steps_per_rtt, strict=True)),
            self.steps_per_unit,
            self.ct,
            self.window,
            seed,
            name,
        )

    def with_flows(self, flows: int) -> Model:
        """The same model for another N."""
        return replace(self, flows=flows)


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ModelError(f"{name}: got {show(value)}, expected {least:g} to {most:g}")
