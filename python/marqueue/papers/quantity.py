"""What experiments measure: numbers by name, of every replication and at every place of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.result import LINK_FIGURES, Result, Window
from marqueue.result.window import merge
from marqueue.stats import Estimate, Floats


@dataclass(frozen=True)
class Quantity:
    """A measured number, or one at each place of a sweep: ``values[replication, place]``."""

    label: str
    """What is measured."""
    of: str
    """Of which scheme or set-up."""
    values: Floats
    unit: str = ""
    variable: str = ""
    """What is swept; empty for a single number."""
    places: tuple[float, ...] = (0.0,)
    """The values of the variable."""

    @property
    def estimates(self) -> list[Estimate]:
        """One a place, over the replications."""
        return [Estimate.of(column) for column in self.values.T]

    def place(self, at: float | None) -> int:
        """The index of a place; without one, the only one there is."""
        if at is None and len(self.places) == 1:
            return 0
        if at not in self.places:
            raise KeyError(f"{self.variable} = {at}, expected one of {self.places}")
        return self.places.index(at)


Quantities = Mapping[str, Quantity]
Runs = Mapping[str, Result]
"""What came out of an experiment's set-ups, by their names."""

#: Figures of a link by name: label, unit and how they are taken of a window.
FIGURES = {figure.name: figure for figure in LINK_FIGURES}


def single(label: str, of: str, values: Sequence[float] | Floats, unit: str = "") -> Quantity:
    """A quantity that is one number, of one value a replication."""
    return Quantity(label, of, np.asarray(values, dtype=float)[:, np.newaxis], unit)


def windows_within(result: Result, begin: float, end: float) -> list[int]:
    """The measuring windows that make up the time from ``begin`` to ``end``."""
    edges = list(result.edges)
    if begin not in edges or end not in edges:
        raise KeyError(f"{begin:g} to {end:g} s, expected edges of windows: {edges}")
    return list(range(edges.index(begin), edges.index(end)))


def span(result: Result, begin: float, end: float) -> list[Window]:
    """What each replication measured at its one link from ``begin`` to ``end``."""
    parts = [result.link().windows(w) for w in windows_within(result, begin, end)]
    return [merge(each) for each in zip(*parts, strict=True)]


def over_span(result: Result, of: str, figure: str, begin: float, end: float) -> Quantity:
    """A figure of the one link over a span of time."""
    taken = FIGURES[figure]
    values = [taken.value(window) for window in span(result, begin, end)]
    return single(taken.label, of, values, taken.unit)


def over_windows(
    result: Result,
    of: str,
    figure: str,
    variable: str,
    places: Mapping[float, tuple[float, float]],
) -> Quantity:
    """A figure of the one link at each place of a sweep, which has a span of time of its own."""
    columns = [over_span(result, of, figure, *times).values for times in places.values()]
    taken = FIGURES[figure]
    return Quantity(taken.label, of, np.hstack(columns), taken.unit, variable, tuple(places))


def series_mean(result: Result, of: str, name: str, begin: float, end: float) -> Quantity:
    """The mean of the samples of a series from ``begin`` to ``end``."""
    t, values = result.link().series(name)
    inside = (begin <= t) & (t < end)
    label = name.replace("_", " ").capitalize()
    return single(label, of, values[:, inside].mean(axis=1))


def binned(
    result: Result, name: str, seconds: float, how: Callable[..., Floats]
) -> tuple[Floats, Floats]:
    """A series in steps of so many seconds: the times of their ends, and ``how`` (sum, mean) of
    the samples in each.
    """
    t, values = result.link().series(name)
    per_step = round(seconds / float(t[1] - t[0]))
    whole = len(t) // per_step * per_step
    steps = values[:, :whole].reshape(len(values), -1, per_step)
    return t[:whole].reshape(-1, per_step)[:, -1], how(steps, axis=2)
