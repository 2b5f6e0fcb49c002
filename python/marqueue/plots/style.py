"""The style of figures, and their conversion to SVG.

Figures are made without pyplot: no global state, no backend, no window. Colours are those of
M. Okabe and K. Ito (Color Universal Design, 2008), which colour-blind readers can distinguish;
line styles and markers differ too. Backgrounds are transparent.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import cycle, islice
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

#: Colour of text and axes. HTML pages replace it by the colour of their text, and the first of
#: :data:`COLORS`, which is too dark on black, by their own blue.
INK = "#2a2f36"
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
#: Inches.
WIDTH, HEIGHT = 7.2, 2.7

RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "errorbar.capsize": 3,
    "figure.facecolor": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.alpha": 0.18,
    "grid.color": INK,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "marqueue",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def themed() -> AbstractContextManager[None]:
    """A context in which figures are made and drawn in this style."""
    settings: Any = RC  # the stubs want every key as a literal
    return matplotlib.rc_context(settings)


def looks(n: int) -> list[dict[str, Any]]:
    """Colour, line style and marker of each of ``n`` curves."""
    each = zip(cycle(COLORS), cycle(LINES), cycle(MARKERS), strict=False)
    return [{"color": c, "linestyle": s, "marker": m} for c, s, m in islice(each, n)]


def panels(
    rows: int = 1, height: float = HEIGHT, *, shared: bool = True
) -> tuple[Figure, list[Axes]]:
    """An empty figure with ``rows`` panels, which share the horizontal axis if ``shared``."""
    with themed():
        figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
        axes = figure.subplots(rows, 1, sharex=shared, squeeze=False)
    return figure, list(axes[:, 0])


def figure_and_axes(axes: Axes | None) -> tuple[Figure, Axes]:
    """The given axes and their figure, or those of a new figure."""
    if axes is None:
        figure, [axes] = panels()
        return figure, axes
    figure_of = axes.get_figure(root=True)
    assert figure_of is not None, "axes belong to a figure"
    return figure_of, axes


#: Width of a legend, and of the mark in front of a name, in characters.
CHARACTERS, MARK = 100, 8


def legend(axes: Axes, columns: int = 5) -> None:
    """A legend above the panel; none for fewer than two curves. Long names reduce the number of
    columns, so that the legend is not wider than the panel."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        columns = min(columns, max(1, CHARACTERS // (max(map(len, names)) + MARK)))
        with themed():
            axes.legend(
                handles,
                names,
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=columns,
                borderpad=0.2,
            )


def logarithmic(axes: Axes) -> None:
    """A logarithmic horizontal axis with plain numbers at 1, 2 and 5; over more than three decades
    at powers of ten.
    """
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def shade(axes: Axes, warmup: float, cuts: Sequence[float]) -> None:
    """Greys out the warm-up and marks the edges of later windows."""
    if warmup > 0:
        axes.axvspan(0, warmup, color=INK, alpha=0.07, linewidth=0)
    for cut in cuts:
        axes.axvline(cut, color=INK, linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.6)


def svg(figure: Figure) -> str:
    """The figure as an SVG document; the same figure gives the same text."""
    out = io.StringIO()
    with themed():
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    # Two decimals of a point are enough, and hide rounding differences between machines. Only
    # attributes are changed: the numbers at the axes are text.
    return re.sub(
        r'"[^"<>]*"', lambda quoted: re.sub(r"(-?\d+\.\d\d)\d+", r"\1", quoted[0]), out.getvalue()
    )


def inline_svg(figure: Figure, text: str) -> str:
    """The figure as an element of an HTML page in the colour of its text; ``text`` describes it."""
    return as_element(svg(figure), text)


def as_element(document: str, text: str) -> str:
    """The text of :func:`svg` as such an element."""
    element = document[document.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, flags=re.DOTALL)
    element = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", element)
    element = element.replace("xlink:href=", "href=").replace(INK, "currentColor")
    element = element.replace(COLORS[0].lower(), f"var(--blue, {COLORS[0].lower()})")
    used = set(re.findall(r"#([A-Za-z]\w*)", element))
    element = re.sub(r'\sid="(\w+)"', lambda m: m[0] if m[1] in used else "", element)
    element = re.sub(r'(<svg[^>]*?)\s+(width|height)="[\d.]+pt"', r"\1", element)
    element = re.sub(r'(<svg[^>]*?)\s+(width|height)="[\d.]+pt"', r"\1", element)
    quoted = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return element.replace("<svg", f'<svg role="img" aria-label="{quoted}"', 1)
