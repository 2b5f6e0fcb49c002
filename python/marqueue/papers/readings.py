"""Readings of a paper as data: what it leaves open, and the alternatives that are tried.

A paper that does not say how long a run is judged can be read in several ways, and a claim may hold
under one and fail under another. A reading names the matter, its alternatives, and the main one. A
:class:`Choice` has one alternative for each reading of an experiment; set-ups and measures depend
on it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from marqueue.errors import MarqueueError, unknown
from marqueue.papers.toml_table import Text, TomlTable

#: Values of ``--readings``: the main choice only; and that with every alternative, one at a time.
MAIN, ALL = "main", "all"

#: What a paper says on a matter of which it does not speak.
NOTHING = "nothing"

Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]


class Alternative(TomlTable):
    """One way to read the paper."""

    value: Slug
    """Its name."""
    text: Text
    """What it means for set-ups and measures."""


class Reading(TomlTable):
    """A matter that the paper leaves open."""

    id: Slug
    experiments: Annotated[list[Text], Field(min_length=1)]
    """The experiments that depend on it."""
    where: Text
    """Page, figure or section."""
    says: Text
    """The sentence that leaves it open, or :data:`NOTHING`."""
    question: Text
    """What is open, in our own words."""
    main: Text
    """The alternative that is taken where no other is asked for."""
    because: Text
    """Why that is the main one."""
    alternative: Annotated[list[Alternative], Field(min_length=2)]
    """The alternatives, the main one among them."""

    @property
    def values(self) -> list[str]:
        """The names of the alternatives."""
        return [each.value for each in self.alternative]

    @property
    def others(self) -> list[str]:
        """The names of the alternatives to the main one."""
        return [value for value in self.values if value != self.main]

    @model_validator(mode="after")
    def _alternatives_are_distinct_and_have_the_main_one(self) -> Reading:
        for what, values in {"alternatives": self.values, "experiments": self.experiments}.items():
            if twice := _twice(values):
                raise ValueError(f"reading {self.id}: {what} given twice: {', '.join(twice)}")
        if self.main not in self.values:
            raise ValueError(f"reading {self.id}: main: {unknown(self.main, self.values)}")
        return self


class Readings(TomlTable):
    """A readings.toml."""

    reading: list[Reading] = []

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Readings:
        if twice := _twice([reading.id for reading in self.reading]):
            raise ValueError(f"readings with one id: {', '.join(twice)}")
        return self


def _twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def read_readings(path: Path, experiments: Sequence[str]) -> list[Reading]:
    """The readings of a file, in order, for a paper with these experiments."""
    readings = Readings.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).reading
    for reading in readings:
        for number in reading.experiments:
            if number not in experiments:
                raise ValueError(
                    f"{path}: reading {reading.id}: experiments: {unknown(number, experiments)}"
                )
    return readings


class Choice(Mapping[str, str]):
    """The alternative that is taken for each reading of an experiment: ``choice["window"]``.

    Readings that do not name the experiment are not in it, so that an experiment cannot depend on
    a reading of which its pages do not tell.
    """

    def __init__(self, readings: Sequence[Reading], given: Mapping[str, str]) -> None:
        self._values = {each.id: given.get(each.id, each.main) for each in readings}
        differing = [each.id for each in readings if self._values[each.id] != each.main]
        self.label = ",".join(f"{name}={self._values[name]}" for name in differing) or MAIN
        """``main``, or what differs from the main choice: ``window=paper``."""

    def __getitem__(self, reading: str) -> str:
        if reading not in self._values:
            known = ", ".join(self._values) or "no reading"
            raise KeyError(f"reading {reading}: the experiment has {known} in readings.toml")
        return self._values[reading]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Choice({self.label})"


def leads(labels: Collection[str]) -> str:
    """The label of the leading choice: the main one, or the only one. The order of labels does not
    tell, because JSON sorts them."""
    return MAIN if MAIN in labels else next(iter(labels))


def main_choice(readings: Sequence[Reading], experiment: str) -> Choice:
    """The main choice of an experiment."""
    return Choice(_of(readings, experiment), {})


def choices(
    readings: Sequence[Reading], experiments: Sequence[str], asked: str
) -> dict[str, list[Choice]]:
    """The choices under which each experiment is run and judged, the leading one first.

    ``asked`` is ``main``, ``all`` or ``NAME=VALUE[,NAME=VALUE...]``. With ``all`` the alternatives
    are tried one at a time, with all other readings at their main value: not their product. Raises
    MarqueueError for a reading that no experiment here depends on, and for an unknown value.
    """
    if asked == ALL:
        return {
            number: [
                main_choice(readings, number),
                *(
                    Choice(_of(readings, number), {reading.id: value})
                    for reading in _of(readings, number)
                    for value in reading.others
                ),
            ]
            for number in experiments
        }
    here = [each for each in readings if set(each.experiments) & set(experiments)]
    given = {} if asked == MAIN else _parsed(asked, here)
    return {number: [Choice(_of(readings, number), given)] for number in experiments}


def _of(readings: Sequence[Reading], experiment: str) -> list[Reading]:
    return [each for each in readings if experiment in each.experiments]


def _parsed(asked: str, readings: Sequence[Reading]) -> dict[str, str]:
    """The values of ``NAME=VALUE[,NAME=VALUE...]`` by name."""
    known = {each.id: each.values for each in readings}
    listed = "; ".join(f"{name}={'|'.join(values)}" for name, values in known.items())
    if not known:
        raise MarqueueError(
            f"--readings: got {asked!r}, expected {MAIN} or {ALL}: these experiments have no "
            "readings"
        )
    given: dict[str, str] = {}
    for part in asked.split(","):
        name, sign, value = (each.strip() for each in part.partition("="))
        if not sign:
            raise MarqueueError(
                f"--readings: got {name!r}, expected {MAIN}, {ALL} or NAME=VALUE: {listed}"
            )
        if name not in known:
            raise MarqueueError(f"--readings: got the reading {name!r}, expected one of {listed}")
        if name in given:
            raise MarqueueError(f"--readings: {name} is given twice, expected once")
        if value not in known[name]:
            raise MarqueueError(f"--readings: {name}: {unknown(value, known[name])}")
        given[name] = value
    return given
