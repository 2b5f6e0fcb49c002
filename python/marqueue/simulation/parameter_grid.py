"""The points of a sweep: a scenario with all combinations of given values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from marqueue.errors import Problem, RunError, ScenarioError, show
from marqueue.scenario import Scenario, from_dict
from marqueue.units import (
    CLOCK,
    CYCLES,
    DENSITY,
    FREQUENCY,
    PACKETS,
    RATE,
    SIZE,
    TIME,
    Dimension,
)

#: Keys that all points share (seed: common random numbers) or that affect no packet.
COMMON = ("seed", "replications", "name", "description")
#: The largest number of points.
MOST = 10_000

SHARE = Dimension("a share", "1 %", {"%": Decimal("0.01")}, ("%",))
#: Dimensions of the values of an axis, with the SI unit in tables and its size in base units.
MEASURED: tuple[tuple[Dimension, str, int], ...] = (
    (TIME, "s", 10**9),
    (RATE, "bit/s", 1),
    (SIZE, "bytes", 1),
    (PACKETS, "packets", 1),
    (FREQUENCY, "1/s", 10**9),
    (CLOCK, "cycles/s", 1),
    (DENSITY, "cycles/bit", 10**6),
    (CYCLES, "cycles", 10**6),
    (SHARE, "", 1),
)

_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True)
class Axis:
    """A path in the scenario, and the values that replace the one there."""

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
            raise RunError(
                f"over: got {show(path)}, expected a setting that affects the simulation"
            )
        for i, value in enumerate(values):
            if value in values[:i]:
                raise RunError(f"over: {path}: got {show(value)} again, expected each value once")
        return cls(path, values)

    @property
    def places(self) -> tuple[list[float], str] | None:
        """The values as numbers, with the unit of the first value; None if they are not numbers."""
        if self._numbers is not None:
            return [float(value) for value in self._numbers], ""
        if self._measure is None:
            return None
        dimension, _, _ = self._measure
        unit = self._texts[0].lstrip("+-.0123456789eE ")
        return [float(dimension.read(each) / dimension.units[unit]) for each in self._texts], unit

    @property
    def column(self) -> tuple[str, list[int] | list[float] | list[str]]:
        """The name and the values of its column in tables: texts, or numbers in SI units with the
        unit in the name, as in ``topology.bottleneck.delay [s]``."""
        if self._numbers is not None:
            return self.path, self._numbers
        if self._measure is None:
            return self.path, list(self.values)
        dimension, unit, factor = self._measure
        head = f"{self.path} [{unit}]" if unit else self.path
        return head, [float(dimension.read(each) / factor) for each in self._texts]

    @property
    def _texts(self) -> list[str]:
        return [value.strip("\"'") for value in self.values]

    @property
    def _numbers(self) -> list[int] | list[float] | None:
        """The values as plain numbers; None if they are not."""
        try:
            return [int(value) for value in self.values]
        except ValueError:
            pass
        try:
            return [float(value) for value in self.values]
        except ValueError:
            return None

    @property
    def _measure(self) -> tuple[Dimension, str, int] | None:
        """The entry of :data:`MEASURED` that all values have; None if there is none."""
        return next((each for each in MEASURED if _reads(each[0], self._texts)), None)


def _reads(dimension: Dimension, texts: Sequence[str]) -> bool:
    try:
        return all(dimension.read(text) is not None for text in texts)
    except ValueError:
        return False


def labels(axes: Sequence[Axis]) -> list[str]:
    """The label of each axis in tables, reports and figures: the shortest end of its path that is
    unique."""
    paths = [axis.path.split(".") for axis in axes]
    return [_shortest(path, [other for other in paths if other is not path]) for path in paths]


def _shortest(path: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    ends = (path[-n:] for n in range(1, len(path) + 1))
    differing = (end for end in ends if all(other[-len(end) :] != end for other in others))
    return ".".join(next(differing, path))


def _split(text: str) -> list[str]:
    """Splits a text at commas outside of lists, tables and quotes."""
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
    """One point of a grid: a value for each axis."""

    number: int
    """The number of the point, from 1; the last axis varies fastest."""
    values: tuple[str, ...]
    scenario: Scenario


def grid(scenario: Scenario, axes: Sequence[Axis]) -> list[Point]:
    """All points of a grid. Raises ScenarioError with the problems of all points."""
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
    data = scenario.to_dict()
    for number, values in enumerate(choices, 1):
        overrides = [f"{axis.path}={v}" for axis, v in zip(axes, values, strict=True)]
        try:
            points.append(Point(number, values, from_dict(data, overrides)))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems, "over")
    return points
