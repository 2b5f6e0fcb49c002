"""Step curves: values that change at events, such as the window or the rate of a sender."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.timeseries import Curve, thin
from marqueue.results.quantities import axis_label

#: The share of values above the axis: before its first reduction, ssthresh is very large.
ABOVE = 0.02


def step_plot(
    curves: Sequence[Curve],
    quantity: str,
    unit: str,
    *,
    end: float,
    warmup: float = 0.0,
    above: float = ABOVE,
    axes: Axes | None = None,
) -> Figure:
    """Draws curves that keep each value until the next, up to ``end`` (s); the warm-up is grey.

    The axis ends at the quantile that leaves a share ``above`` of the values above it.
    """
    figure, axes = style.figure_and_axes(axes)
    for curve, look in zip(curves, style.looks(len(curves)), strict=True):
        t, y = thin(np.append(curve.t, end), np.append(curve.values, curve.values[-1]))
        axes.plot(
            t, y, color=look["color"], label=curve.name, linewidth=0.9, drawstyle="steps-post"
        )
    style.shade(axes, warmup, [])
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(axis_label(quantity, unit))
    axes.set_xlim(0, end)
    tops = [np.nanquantile(c.values, 1 - above) for c in curves if np.isfinite(c.values).any()]
    axes.set_ylim(0, 1.15 * max(tops))
    style.legend(axes)
    return figure
