"""Measured quantities: a value for every replication, at every place of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.results import FLOW_FIGURES, LINK_FIGURES, Result, Window
from marqueue.results.window import merge
from marqueue.statistics.estimates import Estimate, Floats


@dataclass(frozen=True)
class Quantity:
    """A measured number, or one for each place of a sweep: ``values[replication, place]``."""

    label: str
    """What is measured."""
    of: str
    """The scheme or set-up."""
    values: Floats
    unit: str = ""
    variable: str = ""
    """The swept variable; empty for a single number."""
    places: tuple[float, ...] = (0.0,)
    """The values of the variable."""

    @property
    def estimates(self) -> list[Estimate]:
        """An estimate over replications for each place."""
        return [Estimate.of(column) for column in self.values.T]

    def place(self, at: float | None) -> int:
        """The index of a place; without a value, the only place."""
        if at is None and len(self.places) == 1:
            return 0
        if at not in self.places:
            raise KeyError(f"{self.variable} = {at}, expected one of {self.places}")
        return self.places.index(at)


Quantities = Mapping[str, Quantity]
Span = tuple[float, float]
"""Begin and end, s."""
Runs = Mapping[str, Result]
"""Results of an experiment's set-ups, by name."""

#: Figures of a link by name: label, unit, and how they are computed from a window.
FIGURES = {figure.name: figure for figure in LINK_FIGURES}
#: The same of flows.
FLOWS = {figure.name: figure for figure in FLOW_FIGURES}
#: A settled queue is at most this many packets from its level: a tenth of the buffer.
NEAR = 10.0
#: Seconds over which the queue is averaged for that.
STEP = 5.0


def single(label: str, of: str, values: Sequence[float] | Floats, unit: str = "") -> Quantity:
    """A single number, from one value per replication."""
    return Quantity(label, of, _column(values), unit)


def _column(values: Sequence[float] | Floats) -> Floats:
    # Rounding errors of sums would give a constant an interval.
    return np.round(np.asarray(values, dtype=float), 12)[:, np.newaxis]


def computed(
    label: str,
    of: str,
    values: Sequence[float] | Floats,
    variable: str,
    places: Sequence[float],
    unit: str = "",
) -> Quantity:
    """What theory says at each place of a sweep: one value, which has no interval."""
    return Quantity(label, of, np.array([values], dtype=float), unit, variable, tuple(places))


def windows_within(result: Result, begin: float, end: float) -> list[int]:
    """Indices of the measuring windows between ``begin`` and ``end``, s."""
    edges = list(result.edges)
    if begin not in edges or end not in edges:
        raise KeyError(f"{begin:g} to {end:g} s, expected edges of windows: {edges}")
    return list(range(edges.index(begin), edges.index(end)))


def span(result: Result, begin: float, end: float) -> list[Window]:
    """The measurements of each replication at the only link from ``begin`` to ``end``, s."""
    parts = [result.link().windows(w) for w in windows_within(result, begin, end)]
    return [merge(each) for each in zip(*parts, strict=True)]


def over_span(result: Result, of: str, figure: str, begin: float, end: float) -> Quantity:
    """A figure of the only link over a span of time."""
    taken = FIGURES[figure]
    values = [taken.value(window) for window in span(result, begin, end)]
    return single(taken.label, of, values, taken.unit)


def side_by_side(parts: Mapping[float, Quantity], variable: str, of: str | None = None) -> Quantity:
    """Joins the quantities measured at each place of a sweep; NaN if a place has fewer replications
    than others."""
    first = next(iter(parts.values()))
    most = max(len(part.values) for part in parts.values())
    values = np.hstack(
        [
            np.pad(part.values, ((0, most - len(part.values)), (0, 0)), constant_values=np.nan)
            for part in parts.values()
        ]
    )
    return Quantity(first.label, of or first.of, values, first.unit, variable, tuple(parts))


def over_windows(
    result: Result, of: str, figure: str, variable: str, places: Mapping[float, Span]
) -> Quantity:
    """A figure of the only link at each place of a sweep, which is a span of time each."""
    parts = {place: over_span(result, of, figure, *times) for place, times in places.items()}
    return side_by_side(parts, variable)


def over_flows(
    result: Result, of: str, figure: str, variable: str, places: Mapping[float, Span], **which: str
) -> Quantity:
    """A figure of the flows (of a group) at each place of a sweep, which is a window each."""
    taken = FLOWS[figure]
    parts = {}
    for place, times in places.items():
        [window] = windows_within(result, *times)
        values = [taken.value(f) * taken.scale for f in result.flow_sets(window, **which)]
        parts[place] = single(taken.label, of, values, taken.unit)
    return side_by_side(parts, variable)


def series_mean(result: Result, of: str, name: str, begin: float, end: float) -> Quantity:
    """The mean of the samples of a series from ``begin`` to ``end``, s."""
    t, values = result.link().series(name)
    inside = (begin <= t) & (t < end)
    return single(name.replace("_", " ").capitalize(), of, values[:, inside].mean(axis=1))


def stepped(
    series: tuple[Floats, Floats], seconds: float, how: Callable[..., Floats]
) -> tuple[Floats, Floats]:
    """A series in longer steps: the ends of the steps, and ``how`` (np.sum, np.mean) of the samples
    in each."""
    t, values = series
    per_step = round(seconds / float(t[1] - t[0]))
    whole = len(t) // per_step * per_step
    steps = values[:, :whole].reshape(len(values), -1, per_step)
    return t[:whole].reshape(-1, per_step)[:, -1], how(steps, axis=2)


def settling(
    result: Result, of: str, begin: float, end: float, level: float | None = None
) -> Quantity:
    """The time from ``begin`` until the queue has settled, s.

    It has settled when its mean over every 5 s stays within :data:`NEAR` packets of the level; by
    default the level is the mean over the last fifth of the time up to ``end``. If it never
    settles, the result is all of that time.
    """
    t, queue = stepped(result.link().series("queue"), STEP, np.mean)
    inside = (begin < t) & (t <= end)
    queue, last = queue[:, inside], t[inside] > end - 0.2 * (end - begin)
    target = queue[:, last].mean(axis=1, keepdims=True) if level is None else level
    away = abs(queue - target) > NEAR
    seconds = STEP * np.arange(1, queue.shape[1] + 1)
    return single("Time to settle", of, (away * seconds).max(axis=1), "s")


def peak(result: Result, of: str, begin: float, end: float) -> Quantity:
    """The largest 1 s mean of the queue from ``begin`` to ``end``, packets."""
    t, queue = stepped(result.link().series("queue"), 1.0, np.mean)
    inside = (begin < t) & (t <= end)
    return single("Largest queue, mean of 1 s", of, queue[:, inside].max(axis=1), "packets")
