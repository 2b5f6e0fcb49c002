"""Subjects of figures: a link, all flows, a group of flows or a class of flows.

A figure is given by its name (``utilization``, ``jain``), or with the name of a link, group or
class in front (``bottleneck.queue_mean``, ``long.goodput``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from marqueue.errors import RunError, show, unknown
from marqueue.results.columns import numbers, texts
from marqueue.results.data import ResultData
from marqueue.results.figure import Columns, Figure
from marqueue.results.flows import FLOW_FIGURES
from marqueue.results.labels import class_names, group_names
from marqueue.results.tables import link_names
from marqueue.results.window import LINK_FIGURES
from marqueue.results.window_columns import WindowColumns
from marqueue.scenario import Scenario, compile
from marqueue.statistics.estimates import Floats

Kind = Literal["link", "flows", "group", "class"]

LINK_FIGURES_BY_NAME: Mapping[str, Figure[Any]] = {figure.name: figure for figure in LINK_FIGURES}
FLOW_FIGURES_BY_NAME: Mapping[str, Figure[Any]] = {figure.name: figure for figure in FLOW_FIGURES}
NAMED: tuple[Kind, ...] = ("link", "group", "class")
"""The kinds of subjects with names; they are also columns of tables."""


@dataclass(frozen=True)
class Subject:
    """The subject of a figure."""

    kind: Kind
    """``flows``: all flows."""
    name: str = ""
    """The name in the scenario; empty for all flows."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else "all flows"

    @property
    def figures(self) -> Mapping[str, Figure[Any]]:
        """Its figures by name."""
        return LINK_FIGURES_BY_NAME if self.kind == "link" else FLOW_FIGURES_BY_NAME

    @property
    def columns(self) -> dict[str, str | None]:
        """Its values in the columns link, group and class of a table; all null for all flows."""
        return {kind: self.name if kind == self.kind else None for kind in NAMED}

    @property
    def selection(self) -> dict[str, str]:
        """The arguments of :meth:`Result.measured_flows` that select its flows."""
        return {{"group": "group", "class": "class_"}[self.kind]: self.name} if self.name else {}

    def measured(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its figures in a part of a summary, such as ``measured``; empty if it is not included."""
        if self.kind == "flows":
            found = part["flows"]
        else:
            found = part["classes" if self.kind == "class" else f"{self.kind}s"].get(self.name, {})
        assert isinstance(found, Mapping)
        return found

    def samples(self, result: ResultData, window: int | None = None) -> Sequence[Any] | Columns:
        """The data for figures in a window (None: the measured time), one sample per replication
        that reached it."""
        if self.kind == "link":
            return WindowColumns.of_windows(result.link(self.name).windows(window))
        return result.measured_flows(window, **self.selection)


def subjects(
    links: Iterable[str], groups: Iterable[str], classes: Iterable[str]
) -> tuple[Subject, ...]:
    """All subjects with these names, in the order of tables: links, all flows, groups, classes."""
    return (
        *(Subject("link", name) for name in links),
        Subject("flows"),
        *(Subject("group", name) for name in groups),
        *(Subject("class", name) for name in classes),
    )


def subjects_of(scenario: Scenario) -> tuple[Subject, ...]:
    """All subjects of a scenario."""
    plan = compile(scenario)
    groups = dict.fromkeys(group_names(scenario, plan))
    return subjects(link_names(plan), groups, class_names(scenario))


@dataclass(frozen=True)
class ChosenFigure:
    """A figure of a subject."""

    subject: Subject
    figure: Figure[Any]


def choose(text: str, among: Sequence[Subject], option: str = "figure") -> list[ChosenFigure]:
    """The figures that ``FIGURE`` or ``NAME.FIGURE`` stands for.

    Without a name, a figure of links is taken of every link, and a figure of flows of all flows.
    Raises RunError; its message begins with ``option`` and lists the known names.
    """
    name, _, figure = text.strip().rpartition(".")
    if figure not in LINK_FIGURES_BY_NAME and figure not in FLOW_FIGURES_BY_NAME:
        raise RunError(
            f"{option}: figure: {unknown(figure, [*LINK_FIGURES_BY_NAME, *FLOW_FIGURES_BY_NAME])}"
        )
    fitting = [each for each in among if figure in each.figures]
    if name:
        named = [each for each in fitting if each.name]
        found = [each for each in named if each.name == name]
        if not found:
            kinds = "link" if figure in LINK_FIGURES_BY_NAME else "group or class"
            raise RunError(f"{option}: {kinds}: {unknown(name, [each.name for each in named])}")
        if len(found) > 1:
            both = " and of a ".join(each.kind for each in found)
            raise RunError(
                f"{option}: got {show(name)}, the name of a {both}, expected a unique name"
            )
    else:
        found = [each for each in fitting if each.kind in ("link", "flows")]
    return [ChosenFigure(each, each.figures[figure]) for each in found]


def choose_all(texts: Iterable[str], among: Sequence[Subject]) -> list[ChosenFigure]:
    """The figures that several texts stand for, each once."""
    return list(dict.fromkeys(each for text in texts for each in choose(text, among)))


def values_table(result: ResultData, window: int | None = None) -> pa.Table:
    """One row per replication, subject and figure; see :meth:`Result.figures`."""
    links = [Subject("link", name) for name in result.links]
    of_flows = subjects((), result.groups, result.classes)
    samples = chain(
        (each.samples(result, window) for each in links),
        result.samples_of_flows([each.selection for each in of_flows], window),
    )
    heads: list[tuple[str | None, ...]] = []
    values: list[Floats] = []
    for subject, of in zip((*links, *of_flows), samples, strict=True):
        for figure in subject.figures.values():
            heads.append((*subject.columns.values(), figure.name, figure.base_unit))
            values.append(figure.of(of).values)
    replications = np.array(result.replications_in(window))
    index = np.repeat(np.arange(len(heads)), len(replications))
    of_rows = np.concatenate(values)
    columns = {
        "replication": numbers(np.tile(replications, len(heads)), pa.uint32()),
        **{
            name: texts(of_heads, index.tolist())
            for name, of_heads in zip(
                (*NAMED, "figure", "unit"), zip(*heads, strict=True), strict=True
            )
        },
        "value": numbers(of_rows, pa.float64(), ~np.isfinite(of_rows)),
    }
    return pa.table(columns)
