"""The points of a sweep: a scenario with some of its values replaced, each by every value given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from marqueue.errors import Problem, RunError, ScenarioError, show
from marqueue.scenario import Scenario, with_overrides
from marqueue.units import FREQUENCY, PACKETS, RATE, SIZE, TIME, Dimension

#: What is common to all points (seeds: common random numbers), or changes no packet.
COMMON = ("seed", "replications", "name", "description")
#: Points beyond which a grid is taken for a mistake.
MOST = 10_000

_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True)
class Axis:
    """A value of the scenario by its path, and what it is replaced by."""

    path: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Reads ``PATH=v1,v2,...``; raises RunError with the text and what was expected."""
        path, equals, listed = text.partition("=")
        values = tuple(value.strip() for value in _split(listed))
        if not equals or not path.strip() or not all(values):
            raise RunError(
                f"over: got {show(text)}, expected PATH=VALUE,VALUE,... such as "
                "topology.bottleneck.buffer=50 packets,100 packets"
            )
        path = path.strip()
        if path in COMMON:
            raise RunError(f"over: got {show(path)}, expected a setting that the points differ in")
        for i, value in enumerate(values):
            if value in values[:i]:
                raise RunError(f"over: {path}: got {show(value)} again, expected each value once")
        return cls(path, values)

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path.rpartition(".")[2]

    @property
    def places(self) -> tuple[list[float], str] | None:
        """The values as numbers with the unit of the first; None if they are not numbers."""
        try:
            return [float(value) for value in self.values], ""
        except ValueError:
            pass
        for dimension in (TIME, RATE, SIZE, PACKETS, FREQUENCY):
            try:
                return _measured(dimension, [value.strip("\"'") for value in self.values])
            except ValueError:
                continue
        return None


def _measured(dimension: Dimension, values: Sequence[str]) -> tuple[list[float], str]:
    base = [dimension.read(value) for value in values]
    unit = values[0].lstrip("+-.0123456789eE ")
    return [float(each / dimension.units[unit]) for each in base], unit


def _split(text: str) -> list[str]:
    """At the commas that stand in no list, table or quoted text."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += letter
    return parts


@dataclass(frozen=True)
class Point:
    """One choice of values, one an axis."""

    number: int
    """From 1, the last axis running fastest."""
    values: tuple[str, ...]
    scenario: Scenario


def grid(scenario: Scenario, axes: Sequence[Axis]) -> list[Point]:
    """All points; raises ScenarioError with all that is wrong with any of them."""
    if not axes:
        raise RunError("over: got nothing, expected at least one PATH=VALUE,VALUE,...")
    for i, axis in enumerate(axes):
        if axis.path in [each.path for each in axes[:i]]:
            raise RunError(f"over: got {show(axis.path)} again, expected each path once")
    choices = list(itertools.islice(itertools.product(*(a.values for a in axes)), MOST + 1))
    if len(choices) > MOST:
        raise RunError(f"over: expected at most {MOST} points")
    points: list[Point] = []
    problems: list[Problem] = []
    for number, values in enumerate(choices, 1):
        overrides = [f"{axis.path}={v}" for axis, v in zip(axes, values, strict=True)]
        try:
            points.append(Point(number, values, with_overrides(scenario, overrides)))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems, "over")
    return points
