"""The map of a network for print, in the widths of journals and slides."""

from __future__ import annotations

import csv
import io

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from marqueue.reports.for_print import CHARACTER, PrintStyle, legend, settings
from marqueue.reports.network_picture import (
    MOST_APART,
    MOST_NAMED,
    QUANTITIES,
    Quantity,
    is_crowded,
)
from marqueue.results.network_map import NetworkMap, lines_of

#: What ``marqueue plot --figure`` calls the maps.
MAPS = {f"map-{each.name}": each for each in QUANTITIES}
#: From light to dark, so that the ranges differ in grey too, without the lightest part, which is
#: not seen on paper.
COLORS, LIGHTEST = "YlOrRd", 0.25
UNKNOWN = "#bbbbbb"
#: Widths of lines of the lowest and of the highest range, of those of curves.
WIDTHS = (0.7, 2.2)
#: The same of a map with more links than have a line for each direction.
CROWDED_WIDTHS = (0.2, 0.7)
#: From the middle between both directions to each, of the width of a line of a curve.
APART = 1.6
#: The drawing order of nodes; names are above them, and links below.
ABOVE_LINKS = 10


def draw_network(of: NetworkMap, quantity: Quantity, look: PrintStyle, width: str) -> Figure:
    """Draws a map with the links in the colours of a quantity; ``width`` is column or page."""
    inches = look.widths[width]
    size = np.maximum(np.ptp(of.places, axis=0), 1e-9)
    aspect = float(np.clip(size[1] / size[0], 0.3, 1.0))
    with settings(look):
        figure = Figure(figsize=(inches, inches * aspect + 0.4), layout="constrained")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.invert_yaxis()
        # Distances are in points, as the widths of lines are.
        _add_links(axes, of, quantity, look, APART * look.line * size[0] / (72 * inches))
        _add_nodes(axes, of, look)
        axes.autoscale_view()
        legend(axes, inches * 72 / look.size / CHARACTER, quantity.title)
    return figure


def _add_links(
    axes: Axes, of: NetworkMap, quantity: Quantity, look: PrintStyle, aside: float
) -> None:
    """The links by ranges, the highest on top; each direction is moved aside where there is room
    for both."""
    crowded = is_crowded(of)
    lines = np.stack(lines_of(of.places, of.ends, 0.0 if crowded else aside), axis=1)
    ranges = quantity.ranges(of)
    colors = colormaps[COLORS](np.linspace(LIGHTEST, 1.0, len(quantity.names)))
    narrow, wide = CROWDED_WIDTHS if crowded else WIDTHS
    widths = np.linspace(narrow, wide, len(quantity.names))
    kinds = [(-1, "nothing measured", UNKNOWN, narrow)]
    kinds += zip(range(len(widths)), quantity.names, colors, widths, strict=True)
    for i, name, color, line in kinds:
        these = list(lines[ranges == i])
        if these:
            found = LineCollection(these, colors=[color], linewidths=look.line * line, label=name)
            found.set_zorder(ABOVE_LINKS - len(widths) + i)
            axes.add_collection(found)


def _add_nodes(axes: Axes, of: NetworkMap, look: PrintStyle) -> None:
    """The nodes, if there are few enough to be seen, with their names."""
    if len(of.nodes) <= MOST_APART:
        size = look.size / 4
        axes.plot(*of.places.T, "o", color="black", markersize=size, zorder=ABOVE_LINKS)
    if len(of.nodes) > MOST_NAMED:
        return
    for name, place in zip(of.nodes, of.places, strict=True):
        axes.annotate(
            name, tuple(place), (0, look.size / 3), textcoords="offset points",
            ha="center", va="bottom", fontsize=0.85 * look.size, zorder=ABOVE_LINKS + 1,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
        )  # fmt: skip


def network_values(of: NetworkMap) -> str:
    """The links with their figures as CSV, with the units in the header."""
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    head = ("link", "from", "to", "utilization", "dropped or marked", "mean queueing delay [s]")
    rows.writerow(head)
    figures = np.column_stack([of.utilization, of.signal_ratio, of.delay]).tolist()
    for name, (start, end), values in zip(of.links, of.ends.tolist(), figures, strict=True):
        cells = ("" if np.isnan(x) else f"{x:.9g}" for x in values)
        rows.writerow([name, of.nodes[start], of.nodes[end], *cells])
    return out.getvalue()
