"""What changes at events and stays in between: the window of a sender, or its rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.timeseries import Curve, thin

#: The share of values that need not be seen: before its first cut, ssthresh is the largest window
#: that there may be.
ABOVE = 0.02


def steps(
    curves: Sequence[Curve],
    quantity: str,
    unit: str,
    *,
    end: float,
    warmup: float = 0.0,
    above: float = ABOVE,
    axes: Axes | None = None,
) -> Figure:
    """Draws curves that keep each value until the next, up to ``end``; the warm-up is grey.

    Values that leave a share ``above`` of all of them above them end the axis.
    """
    figure, axes = style.on(axes)
    for curve, look in zip(curves, style.looks(len(curves)), strict=True):
        t, y = thin(np.append(curve.t, end), np.append(curve.values, curve.values[-1]))
        axes.plot(
            t, y, color=look["color"], label=curve.name, linewidth=0.9, drawstyle="steps-post"
        )
    style.shade(axes, warmup, [])
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(style.label(quantity, unit))
    axes.set_xlim(0, end)
    tops = [np.nanquantile(c.values, 1 - above) for c in curves if np.isfinite(c.values).any()]
    axes.set_ylim(0, 1.15 * max(tops))
    style.legend(axes)
    return figure
