"""Curves of series over replications, and the choices that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from marqueue.reports.chart import ChartCurve, Choice
from marqueue.statistics.estimates import Floats, student_t

#: Replications that have curves of their own; the mean is over all.
MOST_REPLICATIONS = 8
#: The name of the mean among the replications.
MEAN = "mean, 95% interval"


def over_replications(
    t: Floats,
    values: Floats,
    tags: Mapping[str, str],
    name: str = "",
    *,
    floor: float = -np.inf,
) -> Iterator[ChartCurve]:
    """A curve for each of the first replications of ``values[replication, sample]``, and before
    them the mean over all with its Student interval at each sample.

    No value is below ``floor``, so the intervals end there.
    """
    if len(values) > 1:
        mean, half_width = _student(values)
        band = (np.maximum(mean - half_width, floor), mean + half_width)
        yield ChartCurve(t, mean, name, {**tags, "replication": MEAN}, band)
    for replication, each in enumerate(values[:MOST_REPLICATIONS]):
        yield ChartCurve(t, each, name, {**tags, "replication": str(replication + 1)})


def replication_choice(replications: int) -> Choice:
    """The choice among replications: at first the mean and the first one."""
    own = [str(i + 1) for i in range(min(replications, MOST_REPLICATIONS))]
    values = [MEAN, *own] if replications > 1 else own
    return Choice("replication", "Replications", values, values[:2])


def visible(curves: Sequence[ChartCurve], choices: Sequence[Choice]) -> list[ChartCurve]:
    """The curves that are shown at first."""
    shown = {choice.tag: choice.shown for choice in choices}
    return [
        curve
        for curve in curves
        if all(value in shown.get(tag, (value,)) for tag, value in curve.tags.items())
    ]


def named(curves: Sequence[ChartCurve]) -> list[tuple[str, ChartCurve]]:
    """Curves with names that tell them apart."""
    several = {
        tag
        for curve in curves
        for tag in curve.tags
        if len({other.tags.get(tag) for other in curves}) > 1
    }
    return [
        (", ".join(filter(None, [curve.name, *_differing(curve, several)])), curve)
        for curve in curves
    ]


def _differing(curve: ChartCurve, several: set[str]) -> Iterator[str]:
    for tag, value in curve.tags.items():
        if tag in several:
            yield f"replication {value}" if tag == "replication" and value != MEAN else value


def _student(values: Floats) -> tuple[Floats, Floats]:
    """Mean and half width of the 95% interval at each sample; NaN where too few reached it."""
    there = np.isfinite(values)
    n = there.sum(axis=0)
    filled = np.where(there, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / n
        squares = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0)
        error = np.sqrt(squares / (n - 1) / n)
    factors = np.array([student_t(k, 0.95) if k > 1 else np.nan for k in range(len(values) + 1)])
    return mean, factors[n] * error
