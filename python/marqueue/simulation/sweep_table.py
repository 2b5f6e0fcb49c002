"""The table that ``marqueue sweep`` prints: wide, or stacked on a narrow terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, Group
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from marqueue.results import ChosenFigure, Subject
from marqueue.simulation.sweep_result import DEFAULT_FIGURES, MeasuredPoint, Sweep

_EXPLANATION = "mean ± half width of the 95% confidence interval over replications"
_WITHOUT = "one replication: no confidence intervals"

_ANY_WIDTH = 100_000
"""Columns, more than any table has."""


def sweep_table(
    swept: Sweep, figures: Sequence[str] = DEFAULT_FIGURES, width: int | None = None
) -> Table | Group:
    """Some figures of every point, for a terminal of ``width`` columns (None: of any width).

    A point has a row for each link that a figure is measured at; figures of flows are in the first
    of them. If this table is wider than ``width``, its titles are broken into more lines. If that
    is not enough, the table is stacked: the values of a point in one line, and below it a line for
    each figure.
    """
    chosen = swept.choose(figures)
    caption = _caption(swept, figures)
    for narrow in (False, True):
        table = _wide(swept, chosen, caption, narrow=narrow)
        if width is None or table_width(table) <= width:
            return table
    return _stacked(swept, chosen, caption)


def table_width(table: Table) -> int:
    """The number of columns that a table needs so that no cell is wrapped."""
    console = Console(width=_ANY_WIDTH)
    return Measurement.get(console, console.options, table).maximum


def figure_title(chosen: ChosenFigure) -> str:
    """The title of a figure, with the name of the link, group or class if it has one."""
    figure, name = chosen.figure, chosen.subject.name
    return f"{figure.title}, {name}" if name else figure.title


def _title(swept: Sweep) -> str:
    return f"{swept.scenario.name}: {len(swept.points)} points"


def _caption(swept: Sweep, figures: Sequence[str]) -> str:
    several = any(each.summary["replications"] > 1 for each in swept.points)
    remarks = [
        _EXPLANATION if several else _WITHOUT,
        swept.shown_remark(figures),
        swept.partial_remark,
    ]
    return "\n".join(filter(None, remarks))


def _wide(swept: Sweep, chosen: Sequence[ChosenFigure], caption: str, *, narrow: bool) -> Table:
    of_links = [each for each in chosen if each.subject.kind == "link"]
    of_flows = [each for each in chosen if each.subject.kind != "link"]
    links = list(dict.fromkeys(each.subject for each in of_links))
    link_figures = list(dict.fromkeys(each.figure for each in of_links))
    several = bool(links) and _has_several_links(swept)
    rows = []
    for point in swept.points:
        for number, link in enumerate(links or [None]):
            cells = [ChosenFigure(link, figure) for figure in link_figures] if link else []
            shown = [str(point.estimate(each)) if each in of_links else "" for each in cells]
            shown += ["" if number else str(point.estimate(each)) for each in of_flows]
            link_name = [link.name if link else ""] if several else []
            rows.append([*point.point.values, *link_name, *shown])
    names = [*swept.labels, *["link"] * several]
    titles = [each.title for each in link_figures] + [figure_title(each) for each in of_flows]
    table = Table(
        title=Text(_title(swept)),
        caption=Text(caption),
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for column, title in enumerate(titles, len(names)):
        lines = title.replace(" [", "\n[").replace(", ", ",\n").split("\n")
        if narrow:
            widest = max(cell_len(row[column]) for row in rows)
            lines = [
                part
                for each in lines
                for part in textwrap.wrap(each, widest, break_long_words=False)
            ]
        table.add_column(Text("\n".join(lines)), justify="right", no_wrap=True)
    # One row of cells that have a line for each point: Rich takes .2 ms for a cell.
    table.add_row(*(Text("\n".join(cells)) for cells in zip(*rows, strict=True)))
    return table


def _stacked(swept: Sweep, chosen: Sequence[ChosenFigure], caption: str) -> Group:
    several = _has_several_links(swept)
    blocks: list[Text | Padding] = [Text(_title(swept), style="italic")]
    for point in swept.points:
        values = zip(swept.labels, point.point.values, strict=True)
        blocks.append(Text(", ".join(f"{name} = {value}" for name, value in values)))
        blocks.append(Padding(_figures_of(point, chosen, several), (0, 0, 0, 2)))
    blocks.append(Text(caption, style="dim italic"))
    return Group(*blocks)


def _figures_of(point: MeasuredPoint, chosen: Sequence[ChosenFigure], several: bool) -> Table:
    """A line for each figure of a point."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for each in chosen:
        only_link = each.subject.kind == "link" and not several
        title = each.figure.title if only_link else figure_title(each)
        table.add_row(Text(title), Text(str(point.estimate(each)), no_wrap=True))
    return table


def _has_several_links(swept: Sweep) -> bool:
    first: tuple[Subject, ...] = swept.points[0].subjects
    return sum(each.kind == "link" for each in first) > 1
