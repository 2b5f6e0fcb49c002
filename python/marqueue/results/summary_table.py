"""The main figures of a result as a table, for terminals, files and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

Row = Sequence[str]
"""The name of a figure, and a value for each column; those at the end may be missing."""


@dataclass(frozen=True)
class SummaryTable:
    """Figures in rows, links in columns. ``str`` makes it text, and rich prints it with lines."""

    title: str
    columns: Sequence[str]
    sections: Sequence[Sequence[Row]]
    caption: str

    @property
    def rows(self) -> Iterator[Row]:
        """The rows of all sections, each with as many cells as there are columns and a name."""
        for section in self.sections:
            for row in section:
                yield [*row, *[""] * (1 + len(self.columns) - len(row))]

    def __str__(self) -> str:
        rows = [["", *self.columns], *self.rows]
        widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
        lines = [
            "  ".join([name.ljust(widths[0]), *map(str.rjust, values, widths[1:])])
            for name, *values in rows
        ]
        return "\n".join([self.title, *lines, self.caption])

    def __rich__(self) -> Table:
        # Rich takes as long to import as numpy, and is not needed without a terminal.
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=Text(self.title),
            caption=self.caption,
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("")
        for name in self.columns:
            table.add_column(Text(name), justify="right", no_wrap=True)
        for section in self.sections:
            for row in section:
                table.add_row(*map(Text, row))
            table.add_section()
        return table
