"""Time series, such as the queue and the internal variables of an AQM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Floats

#: The largest width of a panel in pixels; more than two points per pixel cannot be seen.
COLUMNS = 800


@dataclass(frozen=True)
class Curve:
    """``values[replication, sample]`` at the times ``t`` (s); one replication may be a 1-D
    array."""

    t: Floats
    values: Floats
    name: str = ""


def timeseries(
    curves: Sequence[Curve],
    quantity: str,
    unit: str = "",
    *,
    warmup: float = 0.0,
    cuts: Sequence[float] = (),
    floor: float | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Draws curves over time: the first replication as a line, the range of all as a band.

    There is no mean over replications because it would hide oscillations. The warm-up is grey, and
    the boundaries of windows are dotted lines. ``floor`` is the lower end of the axis.
    """
    figure, axes = style.figure_and_axes(axes)
    for curve, look in zip(curves, style.looks(len(curves)), strict=True):
        values = np.atleast_2d(curve.values)
        t, low, high = envelope(curve.t, values)
        if len(values) > 1:
            axes.fill_between(t, low, high, color=look["color"], alpha=0.22, linewidth=0)
        t, line = thin(curve.t, values[0])
        axes.plot(t, line, color=look["color"], label=curve.name or None, linewidth=0.9)
    style.shade(axes, warmup, cuts)
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(axis_label(quantity, unit))
    axes.margins(x=0)
    if floor is not None:
        axes.set_ylim(bottom=floor)
    style.legend(axes)
    return figure


def thin(t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """At most two points per column: the minimum and the maximum, in order of time."""
    if len(t) <= 2 * COLUMNS:
        return t, y
    keep = []
    for part in np.array_split(np.arange(len(t)), COLUMNS):
        finite = part[np.isfinite(y[part])]
        if len(finite):
            keep += sorted({int(finite[y[finite].argmin()]), int(finite[y[finite].argmax()])})
    return t[keep], y[keep]


def envelope(t: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """The minimum and the maximum over all replications, in at most :data:`COLUMNS` columns."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if len(t) <= COLUMNS:
        return t, low, high
    parts = np.array_split(np.arange(len(t)), COLUMNS)
    return (
        np.array([t[p].mean() for p in parts]),
        np.array([np.fmin.reduce(low[p]) for p in parts]),
        np.array([np.fmax.reduce(high[p]) for p in parts]),
    )
