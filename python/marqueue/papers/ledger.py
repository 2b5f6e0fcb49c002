"""The ledger of a paper: what does not reproduce and why.

An entry shows the paper's numbers, those of a reference simulator and ours side by side. Our
numbers come from the run for which the ledger is printed; reference numbers are data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from marqueue.papers.quantity import Quantities
from marqueue.papers.toml_table import Text, TomlTable
from marqueue.statistics.estimates import Estimate


class Number(TomlTable):
    """One number: the paper's, the reference's and ours."""

    what: Text
    paper: str = ""
    """Empty if the paper has no number."""
    reference: str | None = None
    """Name of the number in the reference."""
    here: str | None = None
    """Name of the quantity of the experiment."""
    at: float | None = None
    """Place in a sweep, for both."""


class Note(TomlTable):
    """An entry of the ledger."""

    title: Text
    experiment: Text | None = None
    """The experiment; none for the whole paper."""
    text: Annotated[list[Text], Field(min_length=1)]
    """Paragraphs."""
    number: list[Number] = []


class Reference(TomlTable):
    """Numbers of a reference simulator, one value per seed."""

    name: Text
    made: Text
    """How the numbers were made."""
    number: dict[str, list[float] | dict[str, list[float]]]
    """Values by name; those of a sweep by name and place."""

    def estimate(self, name: str, at: float | None) -> Estimate:
        """A number with its confidence interval over seeds."""
        values = self.number[name]
        if isinstance(values, Mapping):
            values = values[f"{at:g}"]
        return Estimate.of(values)


class Ledger(TomlTable):
    """A ledger.toml."""

    note: list[Note]


def read_ledger(path: Path) -> list[Note]:
    """The entries of a file, in order."""
    return Ledger.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).note


def read_reference(path: Path) -> Reference:
    """The numbers of the reference simulator."""
    return Reference.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


Row = tuple[str, str, Estimate | None, Estimate | None]


def rows(note: Note, reference: Reference | None, quantities: Quantities) -> list[Row]:
    """The rows of an entry: name, the paper's number, the reference's, ours."""
    out: list[Row] = []
    for number in note.number:
        named = number.reference
        theirs = reference.estimate(named, number.at) if reference and named else None
        here = number.here and quantities[number.here]
        ours = here.estimates[here.place(number.at)] if here else None
        out.append((number.what, number.paper, theirs, ours))
    return out
