"""Criteria and verdicts.

A criterion is a limit for a measure, or for its ratio to the same measure of a baseline with the
same random numbers. It holds if the whole 95% interval over replications is on the right side of
the limit, and fails if the whole interval is on the wrong side. In between it is not decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal

import numpy as np

from marqueue.statistics.estimates import Estimate, Floats, plain

Verdict = Literal["pass", "fail", "not decided", "not applicable", "no model"]

ORDER: tuple[Verdict, ...] = ("fail", "not decided", "pass", "no model", "not applicable")
"""From what wants attention first; the verdict of a case is the first that one of its criteria
has."""


class Side(Enum):
    """On which side of the limit a criterion holds."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


class Beside(Enum):
    """What a ratio is taken to."""

    BASELINE = "the baseline"
    MAIN = "the same without the change"


@dataclass(frozen=True)
class Criterion:
    """A limit for a measure of a run."""

    measure: str
    side: Side
    limit: float
    """In the base unit of the measure; a plain number if it is a ratio."""
    because: str
    """Where the limit comes from."""
    beside: Beside | None = None
    """None: the limit is for the measure itself."""
    run: str = ""
    """The variant of the case whose measure counts."""
    only_if: str | None = None
    """A measure that must be above zero in the mean; otherwise the criterion is not applicable."""
    otherwise: str = ""
    """The reason that is given then."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with what led to it."""

    what: str
    """The measure, and of which variant."""
    value: Estimate | None
    """In ``unit``; None if nothing was computed."""
    unit: str
    limit: str
    """Side and limit as text, with its unit."""
    because: str
    verdict: Verdict
    note: str = ""

    def unless(self, complaint: str) -> Judgement:
        """This, but not decided where there is a complaint about a run behind it."""
        if not complaint or self.verdict not in ("pass", "fail", "not decided"):
            return self
        return replace(self, verdict="not decided", note=complaint)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "what": self.what,
            "value": None if self.value is None else self.value.as_dict(),
            "unit": self.unit,
            "limit": self.limit,
            "because": self.because,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True)
class Values:
    """A measure of a run: one value per replication, in base units."""

    label: str
    unit: str
    scale: float
    values: Floats
    missing: str = ""
    """Why there are no values."""

    @property
    def estimate(self) -> Estimate | None:
        """Mean and interval, in ``unit``; None without values."""
        return None if self.missing else Estimate.of(self.values).scaled(self.scale)


Measured = Mapping[str, Mapping[str, Values]]
"""The measures of a contender: by run and name of the measure."""


def judge(criterion: Criterion, of: Measured, baseline: Measured, name: str) -> Judgement:
    """The verdict of a criterion; ``name`` is that of the baseline."""
    mine = of[criterion.run][criterion.measure]
    values, unit, scale = mine.values, mine.unit, mine.scale
    what = mine.label + (f", {criterion.run}" if criterion.run else "")
    limit = f"{criterion.side.value} "
    if criterion.beside is None:
        limit += f"{plain(criterion.limit * scale)}{' ' * bool(unit)}{unit}"
        if mine.missing:
            return _not_applicable(criterion, what, unit, limit, mine.missing)
    else:
        beside_main = criterion.beside is Beside.MAIN
        other = of[""] if beside_main else baseline.get(criterion.run, baseline[""])
        beside = name if criterion.beside is Beside.BASELINE else f"{mine.label} without the change"
        limit += f"{plain(criterion.limit)} of {beside}'s"
        what += ", ratio"
        if mine.missing:
            return _not_applicable(criterion, what, "", limit, mine.missing)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = values / other[criterion.measure].values
        unit, scale = "", 1.0
    found = Estimate.of(values).scaled(scale)
    verdict, note = decide(values, criterion.limit, criterion.side)
    if criterion.only_if and not of[criterion.run][criterion.only_if].values.mean() > 0:
        verdict, note = "not applicable", criterion.otherwise
    return Judgement(what, found, unit, limit, criterion.because, verdict, note)


def _not_applicable(criterion: Criterion, what: str, unit: str, limit: str, note: str) -> Judgement:
    return Judgement(what, None, unit, limit, criterion.because, "not applicable", note)


def decide(values: Floats, limit: float, side: Side) -> tuple[Verdict, str]:
    """The verdict for one value per replication, and a note. Infinity is a value: a flow that did
    not finish. A replication without a value (NaN) leaves the criterion undecided."""
    sign = 1.0 if side is Side.AT_MOST else -1.0
    missing = int(np.isnan(values).sum())
    if missing or not len(values):
        return "not decided", f"no value in {missing} of {len(values)} replications"
    infinite = int(np.isinf(values).sum())
    if infinite:
        worst = bool((sign * values).max() == np.inf)
        return (
            "fail" if worst else "pass"
        ), f"infinite in {infinite} of {len(values)} replications"
    found = Estimate.of(values)
    if found.half_width is None:
        return "not decided", "one replication has no interval"
    distance = sign * (found.mean - limit)
    if distance + found.half_width <= 0:
        return "pass", ""
    if distance - found.half_width > 0:
        return "fail", ""
    return "not decided", ""


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a case from those of its criteria."""
    return next((each for each in ORDER if each in verdicts), "not applicable")
