"""Controls for values of a scenario: ranges of numbers with a unit, and lists."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from marqueue.errors import show
from marqueue.scenario import with_overrides

if TYPE_CHECKING:
    from marqueue.scenario import Scenario

Setting = str | float | int
#: Places, at least, of a slider for a quantity that is no whole number.
STEPS = 100
QUANTITY = re.compile(r"\s*([\d.eE+-]+)\s*(.*)")


@dataclass(frozen=True)
class Control:
    """A slider from ``least`` to ``most`` in steps, or a list of ``choices``."""

    path: str
    unit: str = ""
    least: float = 0.0
    most: float = 0.0
    step: float = 0.0
    choices: Sequence[str] = ()
    value: str = ""
    """The value at first, as text."""

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def sliders(scenario: Scenario, settings: Mapping[str, Sequence[Setting]]) -> Iterator[Control]:
    """A control for each path. Raises ScenarioError for a path or an end that the scenario refuses,
    ValueError for a range that is none."""
    for path, values in settings.items():
        for value in values:
            with_overrides(scenario, [f"{path}={value}"])
        now = _value(scenario.to_dict(), path)
        if isinstance(values, tuple):
            yield _range(path, values, now)
        else:
            choices = [str(each) for each in values]
            yield Control(path, choices=choices, value=now if now in choices else "")


def _range(path: str, ends: tuple[Setting, ...], now: str) -> Control:
    parts = [QUANTITY.fullmatch(str(each)) for each in ends]
    if len(ends) != 2 or not all(parts):
        raise ValueError(f"{path}: got {show(ends)}, expected the least and the largest value")
    (least, unit), (most, other) = ((float(p[1]), p[2]) for p in parts if p)
    if unit != other or least >= most:
        raise ValueError(f"{path}: got {show(ends)}, expected two values of one unit, in order")
    whole = not unit and all(isinstance(each, int) for each in ends)
    step = 1.0 if whole else _round((most - least) / STEPS)
    found = QUANTITY.fullmatch(now)
    value = found[1] if found and found[2] == unit else f"{least:g}"
    return Control(path, unit, least, most, step, value=value)


def _round(step: float) -> float:
    """1, 2 or 5 times a power of ten, at most ``step``: values on the way are round."""
    power: float = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= step)


def _value(data: Any, path: str) -> str:
    """The value at a path, as text; empty if the scenario leaves it out. A model's is its name."""
    for step in path.split("."):
        if isinstance(data, list):
            named = [e for e in data if isinstance(e, dict) and e.get("name") == step]
            data = named[0] if named else data[int(step)] if step.isdigit() else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
    if isinstance(data, dict):
        data = data.get("name")
    return "" if data is None else str(data)
