"""A chart as a static SVG picture, for readers without scripts and for print.

It takes its colours from the page by classes, so it needs no drawing library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from marqueue.reports.chart import Chart, ChartCurve, Scale
from marqueue.reports.thinning import kept
from marqueue.statistics.estimates import Floats

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, BOTTOM = 62, 12, 44
LINE = 18
#: Columns of a curve: more cannot be seen.
COLUMNS = 330
#: Colours in the style sheet; further curves begin again.
COLORS = 7
#: Width of a character of a legend, px.
CHARACTER = 7


def picture(chart: Chart, curves: Sequence[tuple[str, ChartCurve]]) -> str:
    """Draws curves of a chart with their names as an ``<svg>`` element."""
    legend, top = _legend([name for name, _ in curves])
    frame = _Frame(chart, [curve for _, curve in curves], top)
    described = escape(f"{chart.title}: {chart.y_label} over {chart.x_label}", quote=True)
    return "".join(
        [
            f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT + top}" role="img" '
            f'aria-label="{described}">',
            legend,
            frame.shade(),
            frame.axes(),
            *(frame.curve(curve, i) for i, (_, curve) in enumerate(curves)),
            "</svg>",
        ]
    )


def _legend(names: Sequence[str]) -> tuple[str, int]:
    """Names above the picture, in lines, and the height they take; none for a single curve."""
    if len(names) < 2:
        return "", 8
    out, x, line = [], LEFT, 1
    for i, name in enumerate(names):
        width = 40 + CHARACTER * len(name)
        if x + width > WIDTH and x > LEFT:
            x, line = LEFT, line + 1
        y = line * LINE - 4
        out.append(
            f'<path class="s{i % COLORS + 1}" d="M{x} {y - 4}h22"/>'
            f'<text x="{x + 28}" y="{y}">{escape(name)}</text>'
        )
        x += width
    return "".join(out), line * LINE + 6


class _Frame:
    """The frame of a picture: where values are in it."""

    def __init__(self, chart: Chart, curves: Sequence[ChartCurve], top: int) -> None:
        self.chart, self.top = chart, top
        self.bottom = top + HEIGHT - BOTTOM
        xs = [curve.x for curve in curves]
        self.x_limits = _limits(xs, chart.x_scale)
        low, high = _heights(chart, curves)
        if chart.y_scale == "linear":
            high += 0.05 * (high - low)
            low = chart.floor if chart.floor is not None and low >= chart.floor else low
        self.y_limits = low, high
        if chart.x_names:
            self.x_limits = -0.5, len(chart.x_names) - 0.5

    def x(self, values: Floats) -> Floats:
        share = _share(values, self.x_limits, self.chart.x_scale)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    def y(self, values: Floats) -> Floats:
        share = _share(values, self.y_limits, self.chart.y_scale)
        return self.bottom - (self.bottom - self.top) * share

    def shade(self) -> str:
        if not self.chart.shade_until:
            return ""
        end = float(self.x(np.array([self.chart.shade_until]))[0])
        return (
            f'<rect class="shade" x="{LEFT}" y="{self.top}" width="{max(0.0, end - LEFT):.1f}" '
            f'height="{self.bottom - self.top}"/>'
        )

    def axes(self) -> str:
        chart, out = self.chart, []
        places = (
            np.arange(len(chart.x_names), dtype=float)
            if chart.x_names
            else ticks(self.x_limits, chart.x_scale, 8)
        )
        names = list(chart.x_names) or list(map(_number, places))
        for x, name in zip(self.x(places), names, strict=True):
            out.append(
                f'<path class="grid" d="M{x:.1f} {self.top}V{self.bottom}"/>'
                f'<text x="{x:.1f}" y="{self.bottom + 16}" text-anchor="middle">'
                f"{escape(name)}</text>"
            )
        places = ticks(self.y_limits, chart.y_scale, 6)
        for y, value in zip(self.y(places), places, strict=True):
            out.append(
                f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>'
            )
        middle = (self.top + self.bottom) / 2
        out.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{self.bottom + 36}" '
            f'text-anchor="middle">{escape(chart.x_label)}</text>'
            f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
            f"{escape(chart.y_label)}</text>"
        )
        return "".join(out)

    def curve(self, curve: ChartCurve, place: int) -> str:
        color = f"s{place % COLORS + 1}"
        band = curve.band or ()
        stay = kept([curve.y, *band], COLUMNS)
        x, y = self.x(curve.x[stay]), self.y(curve.y[stay])
        seen = np.isfinite(x) & np.isfinite(y)
        if self.chart.kind == "scatter":
            dots = "".join(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>'
                for a, b in zip(x[seen], y[seen], strict=True)
            )
            bars = ""
            if curve.band:
                low, high = (self.y(each[stay]) for each in curve.band)
                bars = "".join(
                    f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(x, low, high, strict=True)
                )
            return f'<path class="{color}" d="{bars}"/><g class="{color}">{dots}</g>'
        out = []
        if curve.band:
            low, high = (np.clip(self.y(each[stay]), self.top, self.bottom) for each in band)
            both = np.isfinite(low) & np.isfinite(high)
            outline = [*zip(x[both], high[both], strict=True)]
            outline += [*zip(x[both][::-1], low[both][::-1], strict=True)]
            corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
            out.append(f'<path class="{color} band" d="M{corners}Z"/>' if corners else "")
        out.append(f'<path class="{color}" d="{self._line(x, y, seen)}"/>')
        return "".join(out)

    def _line(self, x: Floats, y: Floats, seen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
        steps = self.chart.kind == "step"
        path, before = [], False
        for a, b, there in zip(x.tolist(), y.tolist(), seen.tolist(), strict=True):
            if there and not before:
                path.append(f"M{a:.1f} {b:.1f}")
            elif there:
                path.append(f"H{a:.1f}V{b:.1f}" if steps else f"L{a:.1f} {b:.1f}")
            before = there
        return "".join(path)


BAND_SHARE = 0.5
"""A band widens the range of the curves by at most this share on each side: one of few replications
would flatten them. The page's charts do the same (web/src/charts/table.ts)."""


def _heights(chart: Chart, curves: Sequence[ChartCurve]) -> tuple[float, float]:
    """The range of what is drawn on the vertical axis."""
    ys = [curve.y for curve in curves]
    ends = [end for curve in curves for end in curve.band or ()]
    low, high = _limits([*ys, *ends], chart.y_scale)
    if chart.kind == "scatter" or chart.y_scale == "log" or not ends:
        return low, high
    bottom, top = _limits(ys, chart.y_scale)
    room = BAND_SHARE * (top - bottom)
    return max(low, bottom - room), min(high, top + room)


def _limits(values: Sequence[Floats], scale: Scale) -> tuple[float, float]:
    """The range of what can be drawn."""
    joined = np.concatenate([*values, np.empty(0)])
    joined = joined[np.isfinite(joined) & (joined > 0 if scale == "log" else True)]
    if not len(joined):
        return (1.0, 10.0) if scale == "log" else (0.0, 1.0)
    low, high = float(joined.min()), float(joined.max())
    if low == high:
        return (low / 2, high * 2) if scale == "log" else (low - 0.5, high + 0.5)
    return low, high


def _share(values: Floats, limits: tuple[float, float], scale: Scale) -> Floats:
    low, high = limits
    if scale == "linear":
        return np.asarray((values - low) / (high - low), dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.log(values / low) / math.log(high / low)
    return share


def ticks(limits: tuple[float, float], scale: Scale, most: int) -> Floats:
    """Places of an axis's numbers: powers of ten on a logarithmic axis, else multiples of 1, 2 or 5
    times one."""
    low, high = limits
    if scale == "log":
        decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        if len(decades) >= 2:
            return np.array([10.0**decade for decade in decades])
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.arange(first, last + 1, dtype=float) * step


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
