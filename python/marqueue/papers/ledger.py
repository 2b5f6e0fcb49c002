"""The ledger of a paper: what does not reproduce and why, with the paper's numbers, those of a
reference simulator and ours side by side.

Our numbers are taken from the run that the ledger is printed with; reference numbers are data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from marqueue.papers.claims import Entry, Text
from marqueue.papers.quantity import Quantities
from marqueue.statistics.estimates import Estimate


class Number(Entry):
    """One number as the paper, the reference and we have it."""

    what: Text
    paper: str = ""
    """Empty where the paper has none."""
    reference: str | None = None
    """The name of a number of the reference."""
    here: str | None = None
    """The name of a quantity of the experiment."""
    at: float | None = None
    """Where in a sweep, for both."""


class Note(Entry):
    """One entry of the ledger."""

    title: Text
    experiment: Text | None = None
    """To which it belongs; none for the paper as a whole."""
    text: Annotated[list[Text], Field(min_length=1)]
    """Paragraphs."""
    number: list[Number] = []


class Reference(Entry):
    """Numbers of a reference simulator, one value a seed."""

    name: Text
    made: Text
    """How they were made."""
    number: dict[str, list[float] | dict[str, list[float]]]
    """By name; those of a sweep by name and place."""

    def estimate(self, name: str, at: float | None) -> Estimate:
        """A number with its interval over seeds."""
        values = self.number[name]
        if isinstance(values, Mapping):
            values = values[f"{at:g}"]
        return Estimate.of(values)


class Ledger(Entry):
    """A ledger.toml."""

    note: list[Note]


def read_ledger(path: Path) -> list[Note]:
    """The entries of a file, in its order."""
    return Ledger.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).note


def read_reference(path: Path) -> Reference:
    """The reference's numbers."""
    return Reference.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


Row = tuple[str, str, Estimate | None, Estimate | None]


def rows(note: Note, reference: Reference | None, quantities: Quantities) -> list[Row]:
    """The numbers of an entry: what, the paper's, the reference's, ours."""
    out: list[Row] = []
    for number in note.number:
        named = number.reference
        theirs = reference.estimate(named, number.at) if reference and named else None
        here = number.here and quantities[number.here]
        ours = here.estimates[here.place(number.at)] if here else None
        out.append((number.what, number.paper, theirs, ours))
    return out
