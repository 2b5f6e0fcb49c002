"""Curves over any variable: theory as lines, iterated or simulated values as marks."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Floats


def line_plot(
    curves: Mapping[str, tuple[Floats, Floats]],
    variable: str,
    quantity: str,
    unit: str = "",
    *,
    marks: Mapping[str, tuple[Floats, Floats]] | None = None,
    log: str = "",
    axes: Axes | None = None,
) -> Figure:
    """Draws a line for each ``(x, y)`` of ``curves``, and marks for those of ``marks`` in the
    colour of the line with the same name. ``log`` names logarithmic axes: "x", "y" or "xy"."""
    figure, axes = style.figure_and_axes(axes)
    for (name, (x, y)), look in zip(curves.items(), style.looks(len(curves)), strict=True):
        axes.plot(x, y, color=look["color"], linestyle=look["linestyle"], label=name or None)
        if marks and name in marks:
            axes.plot(*marks[name], color=look["color"], marker=look["marker"], linestyle="none")
    axes.set_xlabel(variable)
    axes.set_ylabel(axis_label(quantity, unit))
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    style.legend(axes)
    return figure
