"""The distribution of the queue over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Floats


def queue_histogram(times: Mapping[str, Floats], *, axes: Axes | None = None) -> Figure:
    """Draws the share of time at each queue length; ``times[name][q]`` is in s, q in packets."""
    figure, axes = style.figure_and_axes(axes)
    for (name, seconds), look in zip(times.items(), style.looks(len(times)), strict=True):
        share = seconds / max(float(seconds.sum()), np.finfo(float).tiny)
        edges = np.arange(len(share) + 1) - 0.5
        axes.stairs(share, edges, fill=True, color=look["color"], alpha=0.25, linewidth=0)
        axes.stairs(
            share,
            edges,
            color=look["color"],
            label=name,
            linestyle=look["linestyle"],
            linewidth=1.2,
        )
    axes.set_xlabel(axis_label("Queue", "packets"))
    axes.set_ylabel("Share of time")
    axes.set_xlim(left=-0.5)
    axes.set_ylim(bottom=0)
    style.legend(axes)
    return figure
