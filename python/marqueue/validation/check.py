"""One check: a figure, what it should be, and how far apart the two may be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from marqueue.statistics.estimates import Estimate, plain

Verdict = Literal["pass", "fail", "unclear", "explained"]

#: Where the theory is exact a figure has this confidence: of several dozen such checks less than
#: one in twenty sets would fail by chance at one seed or another.
EXACT = 0.999


@dataclass(frozen=True)
class Check:
    """A figure against what it should be.

    It passes if the interval of the distance reaches into the tolerance, and is unclear if that
    interval is wider than ``resolution``: then it would have passed for many a wrong figure, too.
    A figure without an interval is taken as exact.
    """

    what: str
    """What was measured, and where."""
    against: str
    """The law or the program that says what it should be, with its source."""
    figure: Estimate
    expected: Estimate | float
    tolerance: float
    """In the figure's unit; 0 where the theory is exact."""
    because: str
    """Why the tolerance is what it is."""
    resolution: float | None = None
    """The widest half width of the distance that decides; by default the tolerance."""
    unit: str = ""
    explained: str = ""
    """Why the two are known to disagree, if they are."""
    place: tuple[str, float] | None = None
    """The curve that it is a point of, and where on it."""

    @property
    def target(self) -> Estimate:
        """What it should be, as an estimate; a law has no interval."""
        if isinstance(self.expected, Estimate):
            return self.expected
        return Estimate(self.expected, None, 1)

    @property
    def distance(self) -> Estimate:
        """Figure less expected, with the half width of both."""
        half = math.hypot(*(e.half_width or 0.0 for e in (self.figure, self.target)))
        difference = self.figure.mean - self.target.mean
        return Estimate(difference, half, self.figure.n, self.figure.confidence)

    @property
    def verdict(self) -> Verdict:
        """What became of it; a figure that does not exist fails."""
        half = self.distance.half_width or 0.0
        if not abs(self.distance.mean) <= self.tolerance + half:
            return "explained" if self.explained else "fail"
        widest = self.tolerance if self.resolution is None else self.resolution
        return "pass" if half <= widest else "unclear"

    @property
    def tolerated(self) -> str:
        """The tolerance as the table shows it."""
        return f"± {plain(self.tolerance)}" if self.tolerance else "exact"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "what": self.what,
            "against": self.against,
            "figure": self.figure.as_dict(),
            "confidence": self.figure.confidence,
            "expected": self.target.as_dict(),
            "unit": self.unit,
            "tolerance": self.tolerance,
            "because": self.because,
            "explained": self.explained,
            "verdict": self.verdict,
        }


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many of each there are, as text."""
    words: Mapping[Verdict, str] = {
        "pass": "passed",
        "fail": "failed",
        "unclear": "unclear",
        "explained": "disagree for a known reason",
    }
    return ", ".join(
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in words.items()
        if verdict == "pass" or verdict in verdicts
    )
