"""The data of charts as JSON inside a page, packed and thinned so that the page stays small.

Whole numbers take one, two or four bytes, others four (float32), in base64. Times are multiples of
their common step. No text in the data can end the block or begin another.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marqueue.reports.chart import Chart, ChartCurve, Choice
from marqueue.reports.thinning import PER_COLUMN, kept
from marqueue.statistics.estimates import Floats

#: Values in the data of a page: about 2 MB.
MOST_VALUES = 350_000
#: Columns of a thinned series, from those of a large screen down.
COLUMNS = (2000, 1000, 500, 250, 120, 60, 30, 15)
#: Times are whole nanoseconds.
NANOSECONDS = 1e9


def charts_data(charts: Sequence[Chart], choices: Sequence[Choice], columns: int) -> dict[str, Any]:
    """A group of charts with what a reader can choose in it, ready for :func:`as_json`."""
    return {
        "charts": [_chart(each, columns) for each in charts],
        "choices": [
            {
                "tag": each.tag,
                "label": each.label,
                "values": list(each.values),
                "shown": list(each.shown),
            }
            for each in choices
            if len(each.values) > 1
        ],
    }


def columns_for(charts: Iterable[Chart]) -> int:
    """The number of columns with which all charts of a page together stay small."""
    sizes = [(len(curve.y), 4 if curve.band else 2) for chart in charts for curve in chart.curves]
    for columns in COLUMNS:
        if sum(min(n, PER_COLUMN * columns) * arrays for n, arrays in sizes) <= MOST_VALUES:
            return columns
    return COLUMNS[-1]


def as_json(data: Mapping[str, Any]) -> tuple[str, int]:
    """The data as text for a block of a page, and its CRC-32, by which damage is found.

    The text is ASCII and has none of the characters that mean something in HTML.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text, zlib.crc32(text.encode())


def _chart(chart: Chart, columns: int) -> dict[str, Any]:
    samples = sum(len(curve.y) for curve in chart.curves)
    series = [_curve(each, columns, over_time=chart.over_time) for each in chart.curves]
    stay = sum(each["y"]["n"] for each in series)
    return {
        "title": chart.title,
        "xLabel": chart.x_label,
        "yLabel": chart.y_label,
        "kind": chart.kind,
        "xScale": chart.x_scale,
        "yScale": chart.y_scale,
        "overTime": chart.over_time,
        "yFloor": chart.floor,
        "until": chart.until,
        "shadeUntil": chart.shade_until,
        "cuts": [float(cut) for cut in chart.cuts],
        "xNames": list(chart.x_names),
        "thinned": [stay, samples] if stay < samples else None,
        "series": series,
    }


def _curve(curve: ChartCurve, columns: int, *, over_time: bool) -> dict[str, Any]:
    band = curve.band or ()
    stay = kept([curve.y, *band], columns)
    out: dict[str, Any] = {
        "name": curve.name,
        "tags": dict(curve.tags),
        "x": (_times if over_time else _packed)(curve.x[stay]),
        "y": _packed(curve.y[stay]),
    }
    if curve.band:
        out["low"], out["high"] = (_packed(each[stay]) for each in band)
    if curve.ghost:
        out["ghost"] = True
    return out


def _times(times: Floats) -> dict[str, Any]:
    """Times (s) as the first one, a step, and the number of steps between them."""
    ticks = np.rint(times * NANOSECONDS).astype(np.int64)
    if not len(ticks):
        return _packed(times)
    gaps = np.diff(ticks)
    step = int(np.gcd.reduce(gaps)) if len(gaps) else 0
    packed: dict[str, Any] = {"n": len(ticks), "first": int(ticks[0]), "step": step}
    if step and (gaps != step).any():
        packed["gaps"] = _packed(gaps / step)
    return packed


def _packed(values: Floats) -> dict[str, Any]:
    """Numbers in the smallest of four types that holds them: whole ones exactly."""
    whole = bool(np.isfinite(values).all()) and bool((values == np.rint(values)).all())
    kind = "f4"
    if whole and len(values) and values.min() >= 0:
        largest = values.max()
        kind = next((k for k, most in _WHOLE if largest <= most), "f4")
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"n": len(values), "type": kind, "data": base64.b64encode(data.tobytes()).decode()}


_WHOLE = (("u1", 2**8 - 1), ("u2", 2**16 - 1), ("u4", 2**32 - 1))
