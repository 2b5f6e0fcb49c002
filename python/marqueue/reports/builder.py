"""Builds a self-contained HTML page of sections with text, facts, tables, figures and verdicts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from marqueue.errors import MISSING
from marqueue.reports.built import built
from marqueue.reports.chart import Chart, Choice
from marqueue.reports.curves import named, visible
from marqueue.reports.embedding import as_json, charts_data, columns_for
from marqueue.reports.network_picture import QUANTITIES, network_picture
from marqueue.reports.picture import picture
from marqueue.results.network_map import NetworkMap
from marqueue.results.output_file import write_output_file
from marqueue.statistics.estimates import Estimate

TEMPLATES = Path(__file__).parent / "templates"

#: The outcome of a claim. What is explained differs for a reason that is stated with it.
Outcome = Literal["holds", "open", "fails", "explained"]
OUTCOMES: dict[Outcome, str] = {
    "holds": "holds",
    "open": "not decided",
    "fails": "does not hold",
    "explained": "explained",
}


@dataclass(frozen=True)
class Judged:
    """A verdict as a cell of a table: its word, in the colour and with the sign of its outcome."""

    outcome: Outcome
    word: str


Cell = str | int | float | Estimate | Judged | None

#: Remarks that are seen at once; more of them open by a click.
OPEN_NOTES = 4


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
    word: str = ""
    """What the outcome is called, if not as in :data:`OUTCOMES`."""


@dataclass
class _Block:
    kind: str
    content: Mapping[str, Any]


@dataclass
class _Section:
    heading: str
    anchor: str
    folded: bool = False
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
        self._groups: list[tuple[Sequence[Chart], Sequence[Choice]]] = []
        self._grid: Mapping[str, Any] | None = None
        self._pictured = False

    def section(self, heading: str, *, folded: bool = False) -> Report:
        """Begins a section; a folded one opens by a click."""
        base = re.sub(r"\W+", "-", heading.lower()).strip("-") or "section"
        taken = {s.anchor for s in self._sections}
        anchor = next(a for a in (base, *(f"{base}-{i}" for i in range(2, 999))) if a not in taken)
        self._sections.append(_Section(heading, anchor, folded))
        return self

    def text(self, *paragraphs: str) -> Report:
        """Adds prose."""
        return self._add("text", paragraphs=paragraphs)

    def answer(self, sentence: str) -> Report:
        """Adds the answer that the page gives."""
        return self._add("answer", sentence=sentence)

    def notes(self, notes: Iterable[str], heading: str = "Read with care") -> Report:
        """Adds highlighted remarks; nothing if there are none."""
        notes = list(notes)
        return self._add("notes", heading=heading, notes=notes, open=OPEN_NOTES) if notes else self

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
            rows=[list(zip(map(_in_table, row), kinds, strict=True)) for row in body],
            caption=caption,
            folded=folded,
        )

    def charts(
        self, charts: Sequence[Chart], choices: Sequence[Choice] = (), caption: str = ""
    ) -> Report:
        """Adds charts that the page's script draws; nothing without any.

        ``choices`` are offered above them. The first chart of a page is there as a static picture
        for readers without scripts.
        """
        if not charts:
            return self
        self._groups.append((charts, choices))
        return self._add(
            "charts",
            group=len(self._groups) - 1,
            svg=self._static(charts[0], choices),
            name=charts[0].title,
            caption=caption,
        )

    def grid(self, data: Mapping[str, Any], chart: Chart) -> Report:
        """Adds the figures of a grid of settings, of which the reader chooses what is drawn over
        what; ``chart`` is the static picture. At most one for a page."""
        self._grid = data
        return self._add("grid", svg=self._static(chart, ()), name=chart.title)

    def _static(self, chart: Chart, choices: Sequence[Choice]) -> Markup | None:
        """The static picture of a page: of its first chart."""
        if self._pictured:
            return None
        self._pictured = True
        return Markup(picture(chart, named(visible(chart.curves, choices))))

    def figure(
        self, svg: str, caption: str, name: str = "", about: Sequence[Verdict] = ()
    ) -> Report:
        """Adds a figure for print, as :func:`marqueue.plots.style.svg` has it, with verdicts about
        it beside it; without a name it gets the next number."""
        # matplotlib takes longer to load than most pages to make, which have no such figure.
        from marqueue.plots.style import as_element

        if not name:
            self._figures += 1
            name = f"Figure {self._figures}"
        image = Markup(as_element(svg, caption))
        rows = _verdict_rows(about)
        return self._add("figure", name=name, svg=image, caption=caption, about=rows)

    def network(self, network: NetworkMap, caption: str) -> Report:
        """Adds the map of a network, of whose quantities the reader chooses one. At most one for a
        page."""
        svg = Markup(network_picture(network))
        return self._add("network", svg=svg, quantities=QUANTITIES, caption=caption)

    def verdicts(self, verdicts: Iterable[Verdict], caption: str = "") -> Report:
        """Adds a table of claims with measured values and outcomes."""
        return self._add("verdicts", rows=_verdict_rows(verdicts), caption=caption)

    def code(self, text: str, caption: str = "", *, folded: bool = False) -> Report:
        """Adds preformatted text, such as a command or a file."""
        return self._add("code", text=text.rstrip("\n"), caption=caption, folded=folded)

    def render(self) -> str:
        """The page as HTML."""
        template = _environment().get_template("page.html.j2")
        code = built() if self._groups or self._grid else None
        text, crc = as_json(self._data()) if code else ("", 0)
        return template.render(
            report=self,
            sections=self._sections,
            code=code,
            data=Markup(text),
            crc=crc,
        )

    def _data(self) -> dict[str, Any]:
        columns = columns_for(chart for charts, _ in self._groups for chart in charts)
        groups = [charts_data(charts, choices, columns) for charts, choices in self._groups]
        return {"groups": groups, "grid": self._grid}

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
    return value.word if isinstance(value, Judged) else str(value)


def _in_table(value: Cell) -> str:
    if isinstance(value, Judged):
        return Markup('<span class="outcome {}">{}</span>').format(value.outcome, value.word)
    return show(value)


def _verdict_rows(verdicts: Iterable[Verdict]) -> list[tuple[Verdict, str, str]]:
    return [(v, show(v.measured), v.word or OUTCOMES[v.outcome]) for v in verdicts]


#: Longer text, in characters, gets a wide column.
LONG = 24


def _column_kind(cells: Sequence[Cell]) -> Literal["number", "long", "text"]:
    """The layout of a column."""
    if all(c is None or isinstance(c, int | float | Estimate) for c in cells):
        return "number"
    return "long" if max(len(show(c)) for c in cells) > LONG else "text"


class _Compiled(FileSystemBytecodeCache):
    """Compiled templates beside their sources, as Python keeps its own: compiling takes longer than
    all else that a report needs. Where they cannot be written, each process compiles again."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("marqueue.reports"),
        bytecode_cache=_Compiled(str(TEMPLATES / "__pycache__")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
