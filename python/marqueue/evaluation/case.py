"""Cases of an evaluation: scenarios for a contender, what is measured, and criteria that can fail.

A contender is what is evaluated, or what stands beside it: an AQM, or a congestion control. A case
turns a contender into scenarios. Most cases have one; some have variants, such as the same with
ECN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from marqueue.evaluation.criterion import Criterion, Judgement
from marqueue.evaluation.measures import Measure
from marqueue.scenario import Scenario

T = TypeVar("T")

MAIN = ""
"""The name of the only run of a case without variants."""


class Effort(Enum):
    """The form of an evaluation."""

    FULL = "full"
    QUICK = "quick"

    def pick(self, full: T, quick: T) -> T:
        """The value for this form."""
        return full if self is Effort.FULL else quick


@dataclass(frozen=True)
class Contender(Generic[T]):
    """What is evaluated, or what stands beside it."""

    label: str
    """As the user wrote it, such as ``codel:target=10 ms``."""
    of: T
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its name and parameters, for JSON."""


@dataclass(frozen=True)
class Case(Generic[T]):
    """One scenario of a suite."""

    name: str
    section: str
    """The section of the suite's text."""
    title: str
    about: str
    """The set-up in a sentence or two, with departures from the text."""
    runs: Callable[[T, Effort], Mapping[str, Scenario]]
    """The scenarios for a contender, by the name of the variant (:data:`MAIN` first)."""
    measures: Sequence[Measure]
    criteria: Callable[[T], Sequence[Criterion]]
    alone: Callable[[T, Effort], Sequence[Judgement]] = lambda of, effort: ()
    """Verdicts that need no simulation, such as those of a model."""
    baselines: Callable[[T, Effort], Mapping[str, Scenario]] | None = None
    """The scenarios for a baseline: by default the main one of a contender's. A criterion for a
    variant compares with the baseline's variant, or with its main run if it has none."""
    cuts: Sequence[tuple[float, str]] = ()
    """Phases: the end of each, s, and its name; for charts."""
    through: Sequence[tuple[str, str]] = ()
    """Pairs of measures to draw against each other, a point for each variant."""
    forms: Sequence[Effort] = tuple(Effort)
    """The forms of an evaluation that it is part of."""


@dataclass(frozen=True)
class Suite(Generic[T]):
    """The cases of a standard."""

    name: str
    title: str
    source: str
    cases: Sequence[Case[T]]
    baseline: str
    """The name of the contender that criteria compare with."""
    missing: Sequence[str] = ()
    """What the text asks for and the suite does not have, with the reason."""
