"""The figures of docs/theory/chain.md, from the cells of :mod:`marqueue.theory.chain.phases`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from marqueue.plot import panels
from marqueue.plot.style import COLORS, INK, legend, looks, themed
from marqueue.theory.chain.phases import CTS, EXPONENTS, SPREADS, Cell

WHOLE, FEW = 10.0, 1.0
"""Where h is greater, flows are drawn as moving together; where it is less, as apart."""


def all_of_them(cells: list[Cell]) -> dict[str, Figure]:
    """Every figure by its name."""
    return {"phases": diagram(cells), "growth": growth(cells), "spread": spread(cells)}


def _of(cells: list[Cell], rtts: str, a: float, ct: float) -> list[Cell]:
    return [c for c in cells if (c.rtts, c.a, c.ct) == (rtts, a, ct)]


def diagram(cells: list[Cell]) -> Figure:
    """N against CT, a panel an exponent."""
    with themed():
        figure = Figure(figsize=(7.2, 5.6), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for a, panel in zip(EXPONENTS, axes.flat, strict=True):
            _panel(cells, a, panel)
        names = ("h < 1: apart", "1 to 10", "h > 10: together")
        kinds = [Line2D([], [], marker="o", linestyle="", **_dot(h)) for h in (0.5, 5.0, 50.0)]
        kinds += [
            Line2D([], [], color=INK, linestyle="-"),
            Line2D([], [], color=COLORS[1], linestyle="--"),
        ]
        texts = [*names, "mean field: margin 1", "mean window: g = 2"]
        figure.legend(kinds, texts, loc="outside upper center", ncols=3, handlelength=1.6)
    return figure


def _dot(h: float) -> dict[str, Any]:
    if h > WHOLE:
        return {"color": COLORS[1]}
    return {"color": COLORS[0], "markerfacecolor": "none" if h < FEW else COLORS[5]}


def _panel(cells: list[Cell], a: float, axes: Axes) -> None:
    rows = [_of(cells, "together", a, ct) for ct in CTS]
    for row in rows:
        for each in row:
            axes.plot(each.flows, each.ct, marker="o", markersize=4, **_dot(each.h))
    flows = [each.flows for each in rows[-1]]

    def field(value: object) -> np.ndarray:
        return np.array([[getattr(c, str(value)) or np.nan for c in row] for row in rows])

    axes.contour(flows, CTS, np.log(field("margin")), [0.0], colors=[INK])
    gains = field("gain")
    axes.contour(flows, CTS, np.log(gains / 2), [0.0], colors=[COLORS[1]], linestyles="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_yticks([3, 5, 10, 25, 40], labels=["3", "5", "10", "25", "40"])
    axes.minorticks_off()
    axes.set_title(f"a = {a:g}", fontsize=9)
    axes.set_xlabel("N")
    axes.set_ylabel("CT [packets]")
    axes.label_outer()


def growth(cells: list[Cell]) -> Figure:
    """Utilization and h of the paper's chain as N grows, a = 0.2."""
    figure, (above, below) = panels(2, height=2.3)
    for ct, look in zip((5.0, 10.0, 25.0, 40.0), looks(4), strict=True):
        row = _of(cells, "together", 0.2, ct)
        flows = [each.flows for each in row]
        above.plot(flows, [each.utilization for each in row], label=f"CT = {ct:g}", **look)
        below.plot(flows, [each.h for each in row], **look)
    below.plot(flows, flows, color=INK, linewidth=0.8, linestyle=":")
    above.set_ylabel("Utilization")
    below.set_ylabel("h")
    below.set_xlabel("N")
    below.set_xscale("log")
    below.set_yscale("log")
    legend(above)
    return figure


def spread(cells: list[Cell]) -> Figure:
    """What groups and other round-trip times change, CT = 10 and a = 0.2."""
    figure, (above, below) = panels(2, height=2.3)
    for name, look in zip(SPREADS, looks(len(SPREADS)), strict=True):
        row = _of(cells, name, 0.2, 10.0)
        flows = [each.flows for each in row]
        above.plot(flows, [each.margin or np.nan for each in row], label=name, **look)
        below.plot(flows, [each.h for each in row], **look)
    above.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    above.set_ylabel("Gain margin")
    below.set_ylabel("h")
    below.set_xlabel("N")
    below.set_xscale("log")
    above.set_yscale("log")
    below.set_yscale("log")
    legend(above)
    return figure
