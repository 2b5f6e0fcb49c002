"""Empirical distributions: flow completion times, goodputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Floats, ecdf

#: The largest number of steps in a curve.
STEPS = 1000


def cdf(
    samples: Mapping[str, npt.ArrayLike],
    quantity: str,
    unit: str = "",
    *,
    log: bool = False,
    axes: Axes | None = None,
) -> Figure:
    """Draws the empirical distribution of each sample; empty samples are left out."""
    figure, axes = style.figure_and_axes(axes)
    curves = {name: _thin(*ecdf(values)) for name, values in samples.items()}
    curves = {name: curve for name, curve in curves.items() if len(curve[0])}
    for (name, (x, share)), look in zip(curves.items(), style.looks(len(curves)), strict=True):
        line = {k: v for k, v in look.items() if k != "marker"}
        axes.plot([x[0], *x], [0, *share], drawstyle="steps-post", label=name, **line)
    axes.set_xlabel(axis_label(quantity, unit))
    axes.set_ylabel("Share of flows")
    axes.set_ylim(0, 1.02)
    if log:
        style.logarithmic(axes)
    style.legend(axes)
    return figure


def _thin(x: Floats, share: Floats) -> tuple[Floats, Floats]:
    """At most :data:`STEPS` steps, including the first and the last."""
    if len(x) <= STEPS:
        return x, share
    keep = np.linspace(0, len(x) - 1, STEPS).round().astype(int)
    return x[keep], share[keep]
