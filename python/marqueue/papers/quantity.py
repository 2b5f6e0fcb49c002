"""What experiments measure: numbers by name, of every replication and at every place of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.results import FLOW_FIGURES, LINK_FIGURES, Result, Window
from marqueue.results.window import merge
from marqueue.statistics.estimates import Estimate, Floats


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
Span = tuple[float, float]
"""From when to when, s."""
Runs = Mapping[str, Result]
"""What came out of an experiment's set-ups, by their names."""

#: Figures of a link by name: label, unit and how they are taken of a window.
FIGURES = {figure.name: figure for figure in LINK_FIGURES}
#: The same of flows.
FLOWS = {figure.name: figure for figure in FLOW_FIGURES}
#: Packets by which a queue may be off the level at which it has settled: a tenth of the buffer.
NEAR = 10.0
#: Seconds over which it is averaged for that.
STEP = 5.0


def single(label: str, of: str, values: Sequence[float] | Floats, unit: str = "") -> Quantity:
    """A quantity that is one number, of one value a replication."""
    return Quantity(label, of, _column(values), unit)


def _column(values: Sequence[float] | Floats) -> Floats:
    # Sums carry errors in their last digits, which would be an interval where there is none.
    return np.round(np.asarray(values, dtype=float), 12)[:, np.newaxis]


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


def side_by_side(parts: Mapping[float, Quantity], variable: str, of: str | None = None) -> Quantity:
    """One quantity over a sweep, of what was measured at each of its places; NaN where a place has
    fewer replications than others.
    """
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
    """A figure of the one link at each place of a sweep, which has a span of time of its own."""
    parts = {place: over_span(result, of, figure, *times) for place, times in places.items()}
    return side_by_side(parts, variable)


def over_flows(
    result: Result, of: str, figure: str, variable: str, places: Mapping[float, Span], **which: str
) -> Quantity:
    """A figure of the flows (of a group) at each place of a sweep, each a window of its own."""
    taken = FLOWS[figure]
    parts = {}
    for place, times in places.items():
        [window] = windows_within(result, *times)
        values = [taken.value(f) * taken.scale for f in result.flow_sets(window, **which)]
        parts[place] = single(taken.label, of, values, taken.unit)
    return side_by_side(parts, variable)


def series_mean(result: Result, of: str, name: str, begin: float, end: float) -> Quantity:
    """The mean of the samples of a series from ``begin`` to ``end``."""
    t, values = result.link().series(name)
    inside = (begin <= t) & (t < end)
    return single(name.replace("_", " ").capitalize(), of, values[:, inside].mean(axis=1))


def stepped(
    series: tuple[Floats, Floats], seconds: float, how: Callable[..., Floats]
) -> tuple[Floats, Floats]:
    """A series in longer steps: the times of their ends, and ``how`` (np.sum, np.mean) of the
    samples in each.
    """
    t, values = series
    per_step = round(seconds / float(t[1] - t[0]))
    whole = len(t) // per_step * per_step
    steps = values[:, :whole].reshape(len(values), -1, per_step)
    return t[:whole].reshape(-1, per_step)[:, -1], how(steps, axis=2)


def settling(
    result: Result, of: str, begin: float, end: float, level: float | None = None
) -> Quantity:
    """How long after ``begin`` the queue takes to settle, s.

    It has settled when its mean over every 5 s stays within :data:`NEAR` packets of the level, or
    without one of its mean in the last fifth of the time up to ``end``. If it never does, all of
    that time.
    """
    t, queue = stepped(result.link().series("queue"), STEP, np.mean)
    inside = (begin < t) & (t <= end)
    queue, last = queue[:, inside], t[inside] > end - 0.2 * (end - begin)
    target = queue[:, last].mean(axis=1, keepdims=True) if level is None else level
    away = abs(queue - target) > NEAR
    seconds = STEP * np.arange(1, queue.shape[1] + 1)
    return single("Time to settle", of, (away * seconds).max(axis=1), "s")


def peak(result: Result, of: str, begin: float, end: float) -> Quantity:
    """The largest mean of the queue over a second from ``begin`` to ``end``, packets."""
    t, queue = stepped(result.link().series("queue"), 1.0, np.mean)
    inside = (begin < t) & (t <= end)
    return single("Largest queue, mean of 1 s", of, queue[:, inside].max(axis=1), "packets")
