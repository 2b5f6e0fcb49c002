"""The map of a network for print, in the widths of journals and slides."""

from __future__ import annotations

import csv
import io

import numpy as np
from matplotlib import colormaps
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
from marqueue.results.network_map import NetworkMap

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


def draw_network(of: NetworkMap, quantity: Quantity, look: PrintStyle, width: str) -> Figure:
    """Draws a map with the links in the colours of a quantity; ``width`` is column or page."""
    inches = look.widths[width]
    size = np.maximum(np.ptp(of.places, axis=0), 1e-9)
    aspect = float(np.clip(size[1] / size[0], 0.3, 1.0))
    places = of.places * [1.0, -1.0]
    crowded = is_crowded(of)
    narrow, wide = CROWDED_WIDTHS if crowded else WIDTHS
    ranges, names = quantity.ranges(of), ("nothing measured", *quantity.names)
    colors = [UNKNOWN, *colormaps[COLORS](np.linspace(LIGHTEST, 1.0, len(quantity.names)))]
    widths = look.line * np.array([narrow, *np.linspace(narrow, wide, len(quantity.names))])
    with settings(look):
        figure = Figure(figsize=(inches, inches * aspect + 0.4), layout="constrained")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        start, end = places[of.ends[:, 0]], places[of.ends[:, 1]]
        if not crowded:
            along = end - start
            long = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
            # In points, as the widths of lines are.
            unit = size[0] / (72 * inches)
            aside = APART * look.line * unit * np.column_stack([along[:, 1], -along[:, 0]]) / long
            start, end = start + aside, end + aside
        lines = np.stack([start, end], axis=1)
        for i, name in enumerate(names):
            these = lines[ranges == i - 1]
            if len(these):
                found = LineCollection(
                    list(these), colors=[colors[i]], linewidths=widths[i], label=name, zorder=i
                )
                axes.add_collection(found)
        if len(of.nodes) <= MOST_APART:
            axes.plot(*places.T, "o", color="black", markersize=look.size / 4, zorder=len(names))
        axes.autoscale_view()
        for name, place in zip(of.nodes, places, strict=True):
            if len(of.nodes) <= MOST_NAMED:
                axes.annotate(
                    name, tuple(place), (0, look.size / 3), textcoords="offset points",
                    ha="center", va="bottom", fontsize=0.85 * look.size, zorder=len(names) + 1,
                    path_effects=[withStroke(linewidth=1.5, foreground="white")],
                )  # fmt: skip
        legend(axes, inches * 72 / look.size / CHARACTER, quantity.title)
    return figure


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
