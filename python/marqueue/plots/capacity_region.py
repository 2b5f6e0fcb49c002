"""The shares of flows at a CPU and a link over the ratio of the two capacities."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.single_bottleneck import SingleBottleneck

#: Range of C/B in units of the arithmetic mean of the densities, and number of points.
BEGIN, END, POINTS = 0.05, 1.6, 241


def pair_allocations(flows: SingleBottleneck) -> Mapping[str, Floats]:
    """The data of :func:`pair_shares`: ``C/B``, and for each scheme the shares of the link and of
    the CPU, a row per C/B and a column per flow (Figure 2 of Shin, Chong and Rhee 2008)."""
    ratios = np.linspace(BEGIN, END, POINTS) * flows.arithmetic
    schemes: dict[str, Callable[[float, float], Floats]] = {
        "proportionally fair": flows.proportionally_fair,
        "TCP-like": flows.tcp_like,
    }
    out = {"C/B": ratios}
    for name, allocation in schemes.items():
        of_link = np.array([allocation(ratio, 1.0) for ratio in ratios])
        out[f"{name}, link"] = of_link
        out[f"{name}, CPU"] = of_link * flows.densities / ratios[:, None]
    return out


def pair_shares(flows: SingleBottleneck) -> Figure:
    """Draws the flows' shares of link (left) and CPU (right), proportionally fair (top) and
    TCP-like (bottom). Dashed lines are the means of the densities, at which regions meet."""
    shares = pair_allocations(flows)
    ratios = shares["C/B"]
    with style.themed():
        figure = Figure(figsize=(style.WIDTH, 2 * style.HEIGHT), layout="constrained")
        grid = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, (name, of) in zip(grid.flat, list(shares.items())[1:], strict=True):
            looks = style.looks(len(flows.densities))
            for w, share, look in zip(flows.densities, of.T, looks, strict=True):
                look.pop("marker")
                axes.plot(ratios, share, label=f"w = {w:g}", **look)
            axes.plot(ratios, of.sum(axis=1), color=style.INK, linewidth=1.0, label="all")
            for mean in (flows.harmonic, flows.arithmetic):
                axes.axvline(mean, color=style.INK, linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.6)
            axes.set_title(name, fontsize=9, loc="right", pad=2)
            axes.set_xlim(0, ratios[-1])
            axes.set_ylim(0, 1.05)
        for axes in grid[1]:
            axes.set_xlabel("C/B [cycles/bit]")
        for axes in grid[:, 0]:
            axes.set_ylabel("Share")
        handles, names = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names), borderpad=0.2)
    return figure
