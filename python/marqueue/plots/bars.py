"""Bar charts of estimates: windows, classes, schemes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Estimate


def bars(
    places: Sequence[str],
    series: Mapping[str, Sequence[Estimate]],
    quantity: str,
    unit: str = "",
    *,
    axes: Axes | None = None,
) -> Figure:
    """Draws a group of bars at each place, one per series, with intervals as error bars."""
    figure, axes = style.figure_and_axes(axes)
    width = 0.8 / max(1, len(series))
    at = np.arange(len(places), dtype=float)
    for i, ((name, estimates), look) in enumerate(
        zip(series.items(), style.looks(len(series)), strict=True)
    ):
        offset = (i - (len(series) - 1) / 2) * width
        half = [np.nan if e.half_width is None else e.half_width for e in estimates]
        axes.bar(
            at + offset,
            [e.mean for e in estimates],
            width * 0.92,
            yerr=None if np.isnan(half).all() else half,
            label=name,
            color=look["color"],
            alpha=0.85,
            ecolor=style.INK,
        )
    axes.set_xticks(at, places)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(axis_label(quantity, unit))
    style.legend(axes)
    return figure
