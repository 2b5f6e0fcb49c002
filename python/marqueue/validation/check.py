"""A check: a figure, its expected value, and a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from marqueue.statistics.estimates import Estimate, plain

Verdict = Literal["pass", "fail", "unclear", "explained", "unexplained"]

#: Confidence for figures with an exact theory: of several dozen such checks, one fails by chance in
#: fewer than one of twenty runs.
EXACT = 0.999


@dataclass(frozen=True)
class Check:
    """A figure and its expected value.

    The check passes if the confidence interval of the distance reaches into the tolerance. It is
    unclear if that interval is wider than ``resolution``, because it would then pass for many wrong
    figures, too. A figure without an interval counts as exact.
    """

    what: str
    """The measured quantity, and where it was measured."""
    against: str
    """The law or program that gives the expected value, with its source."""
    figure: Estimate
    expected: Estimate | float
    tolerance: float
    """In the unit of the figure; 0 if the theory is exact."""
    because: str
    """Reason for the tolerance."""
    resolution: float | None = None
    """Largest half width of the distance for a decision; by default the tolerance."""
    unit: str = ""
    explained: str = ""
    """Reason for a known disagreement, if there is one."""
    unexplained: str = ""
    """What is known of a disagreement whose reason is not known."""
    place: tuple[str, float] | None = None
    """The curve to which the figure belongs, and its place on it."""

    @property
    def target(self) -> Estimate:
        """The expected value as an estimate; a law has no interval."""
        if isinstance(self.expected, Estimate):
            return self.expected
        return Estimate(self.expected, None, 1)

    @property
    def distance(self) -> Estimate:
        """Figure minus expected value, with the half width of both."""
        half = math.hypot(*(e.half_width or 0.0 for e in (self.figure, self.target)))
        difference = self.figure.mean - self.target.mean
        return Estimate(difference, half, self.figure.n, self.figure.confidence)

    @property
    def verdict(self) -> Verdict:
        """The verdict; a missing figure fails."""
        half = self.distance.half_width or 0.0
        if not abs(self.distance.mean) <= self.tolerance + half:
            if self.explained:
                return "explained"
            return "unexplained" if self.unexplained else "fail"
        widest = self.tolerance if self.resolution is None else self.resolution
        return "pass" if half <= widest else "unclear"

    @property
    def tolerated(self) -> str:
        """The tolerance as shown in the table."""
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
            "unexplained": self.unexplained,
            "verdict": self.verdict,
        }


def counted(verdicts: Sequence[Verdict]) -> str:
    """The number of each verdict, as text."""
    words: Mapping[Verdict, str] = {
        "pass": "passed",
        "fail": "failed",
        "unclear": "unclear",
        "explained": "disagree for a known reason",
        "unexplained": "disagree for an unknown reason",
    }
    return ", ".join(
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in words.items()
        if verdict == "pass" or verdict in verdicts
    )
