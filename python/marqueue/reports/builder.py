"""A page made of sections: prose, facts, tables, figures, verdicts. One file, needing no other."""

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

#: What a report says of a claim, from best to worst.
Outcome = Literal["holds", "partly", "fails", "open"]
OUTCOMES: dict[Outcome, str] = {
    "holds": "holds",
    "partly": "holds in part",
    "fails": "does not hold",
    "open": "not decided",
}


@dataclass(frozen=True)
class Verdict:
    """A claim, where it stands, what it says and what was measured."""

    claim: str
    source: str
    expected: str
    measured: Cell
    outcome: Outcome
    note: str = ""


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
    """Builds a page from top to bottom; every method returns the report, so that calls chain.

    Text is plain: it is escaped, and never read as HTML.
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
        """Adds remarks that must not be overlooked; nothing if there are none."""
        notes = list(notes)
        return self._add("notes", heading=heading, notes=notes) if notes else self

    def highlights(self, figures: Sequence[tuple[str, Cell, str]]) -> Report:
        """Adds the few figures that matter most: (label, value, unit)."""
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
        """Adds a table; a column of numbers is set as such. A folded one opens by a click."""
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
        """Adds a figure, with a number of its own if it has no name."""
        if not name:
            self._figures += 1
            name = f"Figure {self._figures}"
        image = Markup(inline_svg(figure, caption))
        return self._add("figure", name=name, svg=image, caption=caption)

    def verdicts(self, verdicts: Iterable[Verdict], caption: str = "") -> Report:
        """Adds claims with what was measured and what became of them."""
        rows = [(v, show(v.measured), OUTCOMES[v.outcome]) for v in verdicts]
        return self._add("verdicts", rows=rows, caption=caption)

    def code(self, text: str, caption: str = "", *, folded: bool = False) -> Report:
        """Adds text to be typed or stored as it stands."""
        return self._add("code", text=text.rstrip("\n"), caption=caption, folded=folded)

    def render(self) -> str:
        """The page."""
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
    """A cell as text; a number on its own is an estimate without an interval."""
    if value is None:
        return MISSING
    if isinstance(value, int | float):
        return str(Estimate(float(value), None, 1))
    return str(value)


#: Text of more letters gets a wide column, so that it does not become a tower of words.
LONG = 24


def _column_kind(cells: Sequence[Cell]) -> Literal["number", "long", "text"]:
    """How a column is set."""
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
