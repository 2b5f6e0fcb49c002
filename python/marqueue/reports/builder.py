"""Builds a self-contained HTML page of sections with text, facts, tables, figures and verdicts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from marqueue.errors import MISSING
from marqueue.plots.style import inline_svg
from marqueue.results.output_file import write_output_file
from marqueue.statistics.estimates import Estimate

Cell = str | int | float | Estimate | None

#: The outcome of a claim. What is explained differs for a reason that is stated with it.
Outcome = Literal["holds", "open", "fails", "explained"]
OUTCOMES: dict[Outcome, str] = {
    "holds": "holds",
    "open": "not decided",
    "fails": "does not hold",
    "explained": "explained",
}


@dataclass(frozen=True)
class Verdict:
    """A claim with its source, the expected and the measured value, and the outcome."""

    claim: str
    source: str
    expected: str
    measured: Cell
    outcome: Outcome
    note: str = ""
    counts: str = ""
    """Numbers of comparisons that are behind the outcome, shown below it."""


@dataclass
class _Block:
    kind: str
    content: Mapping[str, Any]


@dataclass
class _Section:
    heading: str
    anchor: str
    blocks: list[_Block] = field(default_factory=list)


class Report:
    """Builds a page from top to bottom. Every method returns the report, so calls can be chained.

    All text is plain text; HTML is escaped.
    """

    def __init__(self, title: str, lead: str = "", byline: str = "") -> None:
        self.title = title
        self.lead = lead
        self.byline = byline
        self._sections = [_Section("", "top")]
        self._figures = 0

    def section(self, heading: str) -> Report:
        """Begins a section."""
        base = re.sub(r"\W+", "-", heading.lower()).strip("-") or "section"
        taken = {s.anchor for s in self._sections}
        anchor = next(a for a in (base, *(f"{base}-{i}" for i in range(2, 999))) if a not in taken)
        self._sections.append(_Section(heading, anchor))
        return self

    def text(self, *paragraphs: str) -> Report:
        """Adds prose."""
        return self._add("text", paragraphs=paragraphs)

    def notes(self, notes: Iterable[str], heading: str = "Read with care") -> Report:
        """Adds highlighted remarks; nothing if there are none."""
        notes = list(notes)
        return self._add("notes", heading=heading, notes=notes) if notes else self

    def highlights(self, figures: Sequence[tuple[str, Cell, str]]) -> Report:
        """Adds the most important figures: (label, value, unit)."""
        rows = [(label, show(value), unit) for label, value, unit in figures]
        return self._add("highlights", figures=rows)

    def facts(self, facts: Mapping[str, Cell]) -> Report:
        """Adds a list of names with their values."""
        return self._add("facts", facts={k: show(v) for k, v in facts.items()})

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        caption: str = "",
        *,
        folded: bool = False,
    ) -> Report:
        """Adds a table. Numeric columns are aligned; a folded table opens by a click.

        Raises ValueError for a row of the wrong length.
        """
        body = [list(row) for row in rows]
        for row in body:
            if len(row) != len(columns):
                raise ValueError(f"got a row of {len(row)} cells for {len(columns)} columns: {row}")
        kinds = [_column_kind([row[i] for row in body]) for i in range(len(columns))]
        return self._add(
            "table",
            columns=list(zip(columns, kinds, strict=True)),
            rows=[list(zip(map(show, row), kinds, strict=True)) for row in body],
            caption=caption,
            folded=folded,
        )

    def figure(self, figure: Figure, caption: str, name: str = "") -> Report:
        """Adds a figure; without a name it gets the next number."""
        if not name:
            self._figures += 1
            name = f"Figure {self._figures}"
        image = Markup(inline_svg(figure, caption))
        return self._add("figure", name=name, svg=image, caption=caption)

    def verdicts(self, verdicts: Iterable[Verdict], caption: str = "") -> Report:
        """Adds a table of claims with measured values and outcomes."""
        rows = [(v, show(v.measured), OUTCOMES[v.outcome]) for v in verdicts]
        return self._add("verdicts", rows=rows, caption=caption)

    def code(self, text: str, caption: str = "", *, folded: bool = False) -> Report:
        """Adds preformatted text, such as a command or a file."""
        return self._add("code", text=text.rstrip("\n"), caption=caption, folded=folded)

    def render(self) -> str:
        """The page as HTML."""
        return (
            _environment().get_template("page.html.j2").render(report=self, sections=self._sections)
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page, whole or not at all, and returns its path. Raises RunError."""
        write_output_file(path, self.render())
        return Path(path)

    def _add(self, kind: str, **content: Any) -> Report:
        self._sections[-1].blocks.append(_Block(kind, content))
        return self


def show(value: Cell) -> str:
    """A cell as text; a plain number is formatted like an estimate without an interval."""
    if value is None:
        return MISSING
    if isinstance(value, int | float):
        return str(Estimate(float(value), None, 1))
    return str(value)


#: Longer text, in characters, gets a wide column.
LONG = 24


def _column_kind(cells: Sequence[Cell]) -> Literal["number", "long", "text"]:
    """The layout of a column."""
    if all(c is None or isinstance(c, int | float | Estimate) for c in cells):
        return "number"
    return "long" if max(len(show(c)) for c in cells) > LONG else "text"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("marqueue.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
