"""The figures of docs/theory/chain.md, from the cells of
:mod:`marqueue.theory.marking_chain.phases` and the points of
:mod:`marqueue.design.chain_packets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from marqueue.plots.style import COLORS, INK, legend, looks, panels, themed
from marqueue.theory.marking_chain.phases import CTS, EXPONENTS, SPREADS, Cell

if TYPE_CHECKING:
    from marqueue.design.chain_packets import Point

TOGETHER, APART = 10.0, 1.0
"""Flows count as synchronized for h above the first value, as independent below the second."""


def chain_figures(cells: list[Cell], points: list[Point]) -> dict[str, Figure]:
    """Every figure that has data, by its name."""
    found: dict[str, Figure] = {}
    if cells:
        found |= {
            "phases": diagram(cells, points),
            "growth": growth(cells),
            "spread": spread(cells),
        }
    if points:
        found["packets"] = beside(points)
    return found


def _of(cells: list[Cell], rtts: str, a: float, ct: float) -> list[Cell]:
    return [c for c in cells if (c.rtts, c.a, c.ct) == (rtts, a, ct)]


def diagram(cells: list[Cell], points: list[Point]) -> Figure:
    """Draws h over N and CT, one panel per exponent; squares are packet simulations."""
    with themed():
        figure = Figure(figsize=(7.2, 5.6), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for a, panel in zip(EXPONENTS, axes.flat, strict=True):
            _panel(cells, a, panel)
            for each in (p for p in points if p.a == a):
                look = _dot(each.packets.h.mean) | {"markeredgecolor": INK}
                panel.plot(each.flows, each.ct, marker="s", markersize=8, zorder=1, **look)
        names = ("h < 1: apart", "1 to 10", "h > 10: together")
        kinds = [Line2D([], [], marker="o", linestyle="", **_dot(h)) for h in (0.5, 5.0, 50.0)]
        kinds += [
            Line2D([], [], color=INK, linestyle="-"),
            Line2D([], [], color=COLORS[1], linestyle="--"),
        ]
        texts = [*names, "mean field: margin 1", "mean window: g = 2"]
        if points:
            outer: dict[str, Any] = {"marker": "s", "markersize": 8, "markerfacecolor": "none"}
            kinds.append(Line2D([], [], linestyle="", color=INK, **outer))
            texts.append("around it: packets")
        figure.legend(kinds, texts, loc="outside upper center", ncols=3, handlelength=1.6)
    return figure


def _dot(h: float) -> dict[str, Any]:
    if h > TOGETHER:
        return {"color": COLORS[1]}
    return {"color": COLORS[0], "markerfacecolor": "none" if h < APART else COLORS[5]}


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
    """Draws utilization and h of the paper's chain over N, a = 0.2."""
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
    """Draws the effect of groups and of unequal round-trip times, CT = 10 and a = 0.2."""
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


def beside(points: list[Point]) -> Figure:
    """Draws h over N for packets, minimal TCP and the paper's chain, one panel per CT; a = 0.2."""
    rows = {ct: [p for p in points if (p.a, p.ct) == (0.2, ct)] for ct in (5.0, 10.0, 25.0)}
    figure, axes = panels(len(rows), height=1.9)
    for (ct, row), panel in zip(rows.items(), axes, strict=True):
        flows = [each.flows for each in row]
        sides = {
            "packets": [each.packets.h for each in row],
            "minimal TCP": [each.minimal.h for each in row],
        }
        for (name, found), look in zip(sides.items(), looks(2), strict=True):
            widths = [each.half_width or 0.0 for each in found]
            panel.errorbar(flows, [each.mean for each in found], widths, label=name, **look)
        chain = [each.chain for each in row]
        panel.plot(flows, chain, color=INK, linestyle=":", label="chain, all together")
        panel.set_ylabel(f"h, CT = {ct:g}")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.minorticks_off()
    axes[-1].set_xlabel("N")
    legend(axes[0])
    return figure
