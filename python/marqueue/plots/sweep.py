"""A figure over a swept variable, for several schemes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.results.quantities import axis_label
from marqueue.statistics.estimates import Estimate


def sweep(
    x: Sequence[float],
    schemes: Mapping[str, Sequence[Estimate]],
    variable: str,
    quantity: str,
    unit: str = "",
    *,
    model: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    log: bool = False,
    log_x: bool = False,
    floor: float | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Draws one curve per scheme through its estimates, with intervals as error bars.

    ``schemes[name][i]`` belongs to ``x[i]``; ``variable`` and ``quantity`` name the axes. ``model``
    has the (x, y) of a model for schemes: a line in the colour of the scheme, whose estimates are
    then marks without a line. The vertical axis begins at ``floor``, if given. Raises ValueError if
    a scheme has not one estimate per x.
    """
    figure, axes = style.figure_and_axes(axes)
    modelled = model or {}
    for (name, estimates), look in zip(schemes.items(), style.looks(len(schemes)), strict=True):
        if len(estimates) != len(x):
            raise ValueError(f"{name}: got {len(estimates)} estimates for {len(x)} values of x")
        mean = [e.mean for e in estimates]
        half = [np.nan if e.half_width is None else e.half_width for e in estimates]
        bars = None if np.isnan(half).all() else half
        if name in modelled:
            axes.plot(*modelled[name], color=look["color"], linestyle=look["linestyle"])
            look["linestyle"] = "none"
        axes.errorbar(x, mean, yerr=bars, label=name, **look)
    axes.set_xlabel(variable)
    axes.set_ylabel(axis_label(quantity, unit))
    if log:
        axes.set_yscale("log")
    if log_x:
        style.logarithmic(axes)
    if floor is not None:
        axes.set_ylim(bottom=floor)
    style.legend(axes)
    return figure
