"""Charts as figures for print: in the widths of journals and slides, with embedded fonts, and the
drawn values beside them.

The charts are those of reports (:mod:`marqueue.reports.chart`); only here matplotlib draws them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.reports.chart import Chart, ChartCurve
from marqueue.reports.thinning import kept


@dataclass(frozen=True)
class PrintStyle:
    """The looks of a journal or of slides; lengths in inches, type and lines in points."""

    widths: Mapping[str, float]
    """The width of a figure over one column and over the whole page."""
    heights: tuple[float, float]
    """The least height of a figure, and the height of each panel of several."""
    font: str
    size: float
    line: float


STYLES = {
    # IEEE Author Center: 3.5 in for one column, 7.16 in for two; Times, 8 to 10 pt.
    "ieee": PrintStyle({"column": 3.5, "page": 7.16}, (2.1, 1.1), "STIXGeneral", 8, 0.9),
    # acmart, sigconf: columns of 3.33 in, a text width of 7 in; a sans serif beside Libertine.
    "acm": PrintStyle({"column": 3.33, "page": 7.0}, (2.0, 1.1), "DejaVu Sans", 7, 0.9),
    # A slide of 16:9, and half of one beside text.
    "talk": PrintStyle({"column": 6.0, "page": 12.0}, (6.75, 0.0), "DejaVu Sans", 18, 2.2),
}
WIDTHS = ("column", "page")
FORMATS = ("svg", "png", "pdf")

COLUMNS = 800
"""Columns of a curve over time in which no peak is lost: more cannot be printed."""
DOTS_PER_INCH = 300
CHARACTER = 0.55
"""The mean width of a character relative to the size of the type."""
MARK = 5
"""The width of the line in front of a name in a legend, in characters."""

Drawn = Sequence[tuple[Chart, Sequence[tuple[str, ChartCurve]]]]
"""Charts with the curves to draw and their names."""


def thinned(charts: Drawn) -> Drawn:
    """The same charts without the samples that cannot be seen."""
    return [(chart, [(name, _thin(curve)) for name, curve in of]) for chart, of in charts]


def _thin(curve: ChartCurve) -> ChartCurve:
    at = kept([curve.y, *(curve.band or ())], COLUMNS)
    band = None if curve.band is None else (curve.band[0][at], curve.band[1][at])
    return ChartCurve(curve.x[at], curve.y[at], curve.name, curve.tags, band, curve.ghost)


def file_of(figure: Figure, look: PrintStyle, file_format: str) -> bytes:
    """A figure in this style as a file of one of :data:`FORMATS`; the same figure gives the same
    bytes."""
    out = io.BytesIO()
    with settings(look):
        figure.savefig(
            out,
            format=file_format,
            dpi=DOTS_PER_INCH,
            facecolor="white" if file_format == "png" else "none",
            metadata={
                "pdf": {"CreationDate": None},
                "svg": {"Date": None, "Creator": None},
                "png": {"Software": None},
            }[file_format],
        )
    return out.getvalue()


def draw(charts: Drawn, look: PrintStyle, width: str) -> Figure:
    """The charts below each other, one panel each; those over time share their axis. ``width`` is
    one of :data:`WIDTHS`."""
    one, each = look.heights
    rows, inches = len(charts), look.widths[width]
    height = one if rows == 1 else max(one, each * rows + 4 * look.size / 72)
    shared = rows > 1 and all(chart.over_time for chart, _ in charts)
    with settings(look):
        figure = Figure(figsize=(inches, height), layout="constrained")
        panels = figure.subplots(rows, 1, sharex=shared, squeeze=False)[:, 0]
        for panel, (chart, curves) in zip(panels, charts, strict=True):
            _panel(panel, chart, curves)
            if shared:
                panel.label_outer()
            if len(chart.y_label) * CHARACTER * look.size / 72 > height / rows:
                panel.set_ylabel(chart.y_label.replace(" [", "\n["))
        figure.align_ylabels(list(panels))
        legend(panels[0], inches * 72 / look.size / CHARACTER)
    return figure


def values(charts: Drawn) -> str:
    """The drawn values as CSV: a line for each point, with the units in the header; of several
    charts the first column tells which."""
    several = len(charts) > 1
    first = charts[0][0]
    banded = any(curve.band for _, of in charts for _, curve in of)
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(
        [
            *(["quantity"] if several else []),
            "curve",
            first.x_label,
            "value" if several else first.y_label,
            *(["low", "high"] if banded else []),
        ]
    )
    for chart, curves in charts:
        for name, curve in curves:
            head = [*([chart.y_label] if several else []), name or chart.name]
            columns = [curve.x, curve.y, *_ends(curve, banded)]
            for at in zip(*columns, strict=True):
                rows.writerow([*head, *("" if np.isnan(x) else f"{x:.9g}" for x in at)])
    return out.getvalue()


def _ends(curve: ChartCurve, banded: bool) -> Sequence[Any]:
    """The columns of the interval, empty if only other curves have one."""
    if not banded:
        return ()
    return curve.band or (np.full(len(curve.y), np.nan),) * 2


def settings(look: PrintStyle) -> AbstractContextManager[None]:
    """A context in which figures are made and drawn in this style."""
    these: Any = style.RC | {
        "axes.linewidth": look.line * 0.7,
        "axes.edgecolor": "black",
        "axes.labelcolor": "black",
        "text.color": "black",
        "xtick.color": "black",
        "ytick.color": "black",
        "font.family": [look.font],
        "mathtext.fontset": "stix" if look.font.startswith("STIX") else "dejavusans",
        "font.size": look.size,
        "axes.labelsize": look.size,
        "xtick.labelsize": look.size,
        "ytick.labelsize": look.size,
        "legend.fontsize": look.size,
        "lines.linewidth": look.line,
        "lines.markersize": look.size / 2,
        "grid.linewidth": look.line / 2,
        # TrueType in the file, which submission systems require; text of SVG as outlines.
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "path",
    }
    return matplotlib.rc_context(these)


def _panel(axes: Axes, chart: Chart, curves: Sequence[tuple[str, ChartCurve]]) -> None:
    for (name, curve), look in zip(curves, style.looks(len(curves)), strict=True):
        _curve(axes, chart, name, curve, look)
    style.shade(axes, chart.shade_until, chart.cuts)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.x_names:
        axes.set_xticks(range(len(chart.x_names)), chart.x_names)
    if chart.x_scale == "log":
        style.logarithmic(axes)
    if chart.y_scale == "log":
        axes.set_yscale("log")
    if chart.over_time:
        axes.set_xlim(0, chart.until or None)
    if chart.floor is not None and not any((curve.y < chart.floor).any() for _, curve in curves):
        axes.set_ylim(bottom=chart.floor)


def _curve(axes: Axes, chart: Chart, name: str, curve: ChartCurve, look: Mapping[str, Any]) -> None:
    line = {key: look[key] for key in ("color", "linestyle")}
    if chart.over_time:
        # Dashes would hide what happens in between.
        line["linestyle"] = "-"
    if curve.ghost:
        line |= {"linestyle": "--", "alpha": 0.6}
    if chart.kind == "scatter":
        ends = curve.band or (curve.y, curve.y)
        reach = [curve.y - ends[0], ends[1] - curve.y]
        axes.errorbar(
            curve.x, curve.y, reach, label=name, color=look["color"], marker=look["marker"], ls=""
        )
        return
    stepped = chart.kind == "step"
    if curve.band:
        axes.fill_between(
            curve.x, *curve.band, color=look["color"], alpha=0.22, linewidth=0,
            step="post" if stepped else None,
        )  # fmt: skip
    drawstyle = "steps-post" if stepped else "default"
    axes.plot(curve.x, curve.y, label=name, drawstyle=drawstyle, **line)


def legend(axes: Axes, characters: float, title: str = "") -> None:
    """A legend above the panel, in as many columns as fit in a width of so many characters; none
    for a single curve without a title."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) < 2 and not title:
        return
    columns = int(characters // (max(map(len, names)) + MARK)) or 1
    axes.legend(
        handles, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(columns, len(names)),
        borderpad=0.2, borderaxespad=0.1, columnspacing=1.0, handlelength=1.8,
        title=title, title_fontsize=matplotlib.rcParams["legend.fontsize"], alignment="left",
    )  # fmt: skip
