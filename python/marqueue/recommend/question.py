"""What is asked: a link, ranges of round trips and flows, a mix of traffic, and goals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from marqueue.errors import RunError, show, unknown
from marqueue.recommend.goals import Goal
from marqueue.results import Subject
from marqueue.results.subject import subjects
from marqueue.units import Duration, Rate

#: The link of the AQM in all scenarios.
LINK = "bottleneck"
#: Bytes of a full packet on the wire.
PACKET = 1500
#: Kinds of traffic.
KINDS = ("web", "video", "bulk")
#: Flows and rates that can be simulated in a useful time.
MOST_FLOWS = 10_000


class Ecn(Enum):
    """What senders know of ECN."""

    NONE = "none"
    """CUBIC without it."""
    CLASSIC = "classic"
    """CUBIC that takes a mark for a loss (RFC 3168)."""
    L4S = "l4s"
    """Prague, whose packets are ECT(1) (RFC 9331)."""


@dataclass(frozen=True)
class Range:
    """From the lowest to the highest value, both included."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The geometric mean of both ends."""
        return math.sqrt(self.low * self.high)

    @property
    def ends(self) -> tuple[float, ...]:
        """The two ends, or the one value."""
        return (self.low,) if self.low == self.high else (self.low, self.high)


@dataclass(frozen=True)
class Question:
    """A link with its traffic, and the goals."""

    rate: float
    """bit/s."""
    rtt: Range
    """Round trips without queueing, s."""
    flows: Range
    mix: tuple[str, ...]
    goals: tuple[Goal, ...]
    ecn: Ecn = Ecn.NONE

    @property
    def capacity(self) -> float:
        """Full packets a second."""
        return self.rate / 8 / PACKET

    @classmethod
    def parse(
        cls,
        rate: str,
        rtt: str,
        flows: str,
        mix: str,
        goals: Sequence[str],
        ecn: str = Ecn.NONE.value,
    ) -> Question:
        """Reads the options. Raises RunError with the option, the value and what was expected."""
        kinds = read_mix(mix)
        if not goals:
            raise RunError("--goal: missing, expected at least one, such as 'delay_p99 < 20 ms'")
        among = subjects_of(kinds)
        known = [each.value for each in Ecn]
        if ecn not in known:
            raise RunError(f"--ecn: {unknown(ecn, known)}")
        return cls(
            rate=_positive("--rate", _rate, rate),
            rtt=read_range("--rtt", rtt, _seconds, "a range of times such as 10..80ms"),
            flows=read_range("--flows", flows, _count, "a range of numbers such as 5..200"),
            mix=kinds,
            goals=tuple(Goal.parse(goal, among) for goal in goals),
            ecn=Ecn(ecn),
        )


def subjects_of(kinds: Sequence[str]) -> tuple[Subject, ...]:
    """What goals can be about."""
    return subjects([LINK], kinds, ())


def read_mix(text: str) -> tuple[str, ...]:
    """Kinds of traffic, separated by commas. Raises RunError."""
    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for kind in kinds:
        if kind not in KINDS:
            raise RunError(f"--mix: {unknown(kind, KINDS)}")
    return kinds


def read_range(option: str, text: str, read: Callable[[str], float], expected: str) -> Range:
    """``LOW..HIGH`` or a single value; a low end without unit has that of the high one.

    Raises RunError with the option, the text and what was expected.
    """
    low, dots, high = (part.strip() for part in text.partition(".."))
    if dots and not high:
        raise RunError(f"{option}: got {show(text)}, expected {expected}")
    high = high or low
    unit = high.lstrip("+0123456789.eE ")
    if dots and unit and low and low[-1].isdigit():
        low = f"{low} {unit}"
    try:
        found = Range(read(low), read(high))
    except ValueError as error:
        raise RunError(f"{option}: {error}") from None
    if found.low <= 0:
        raise RunError(f"{option}: got {show(text)}, expected {expected}, above 0")
    if found.low > found.high:
        raise RunError(f"{option}: got {show(text)}, an empty range, expected {expected}")
    return found


def _seconds(text: str) -> float:
    return Duration.parse(text).seconds


def _rate(text: str) -> float:
    return float(Rate.parse(text).base)


def _count(text: str) -> float:
    if not text.isdecimal() or not 0 < int(text) <= MOST_FLOWS:
        raise ValueError(f"got {show(text)}, expected a whole number, 1 to {MOST_FLOWS:,}")
    return float(int(text))


def _positive(option: str, read: Callable[[str], float], text: str) -> float:
    try:
        value = read(text)
    except ValueError as error:
        raise RunError(f"{option}: {error}") from None
    if value <= 0:
        raise RunError(f"{option}: got {show(text)}, expected a value above 0")
    return value
