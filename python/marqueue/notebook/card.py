"""A result as a piece of HTML that needs no script: the main figures, and the queue over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from marqueue.reports.chart import Chart
from marqueue.reports.curves import named, visible
from marqueue.reports.picture import picture
from marqueue.reports.run_charts import run_charts, run_choices

if TYPE_CHECKING:
    from marqueue.results import Result


def card(result: Result) -> str:
    """The table that ``marqueue run`` prints, and the first chart of the report as SVG."""
    return _page(_table(result), _pictures(result, run_charts(result)[:1]))


def pictures(result: Result, charts: Sequence[Chart]) -> str:
    """Charts as SVG, for pages without scripts."""
    return _page(_pictures(result, charts))


def _page(*parts: str) -> str:
    style = (files("marqueue.notebook") / "card.css").read_text(encoding="utf-8")
    return f'<div class="marqueue"><style>{style}</style>{"".join(parts)}</div>'


def _pictures(result: Result, charts: Sequence[Chart]) -> str:
    choices = run_choices(result)
    shown = [(chart, named(visible(chart.curves, choices))) for chart in charts]
    return "".join(
        f"<figure>{picture(chart, curves)}<figcaption>{escape(chart.title)}</figcaption></figure>"
        for chart, curves in shown
        if curves
    )


def _table(result: Result) -> str:
    table = result.table()
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("", *table.columns))
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(each)}</td>' for each in values)}</tr>"
        for name, *values in table.rows
    )
    return (
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
