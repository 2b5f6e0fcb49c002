"""The design of a gain, for all controllers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from scipy.optimize import brentq

from marqueue.errors import ModelError, show
from marqueue.statistics.estimates import Floats
from marqueue.theory.linear.margins import Margins

Side = Literal["below", "above"]
Kind = Literal["sufficient", "exact", "approximate"]

#: Search for the boundary: the factor between values, the largest factor from the bound, and the
#: factor inside the bound at which it starts (an exact bound is on the boundary).
STEP, REACH, INSIDE = 1.2, 1e4, 1.001


@dataclass(frozen=True)
class Value:
    """A number with its unit."""

    number: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.number:.4g} {self.unit}".strip()


@dataclass(frozen=True)
class Rule:
    """The bound of one theorem."""

    theorem: str
    source: str
    bound: float | None
    """The value up to which (or from which) it guarantees stability; None if it guarantees none."""
    kind: Kind
    """``approximate``: of a simplified model, so that the boundary may be on either side."""


class Setting(Protocol):
    """A controller with all gains, on a link or a network."""

    @property
    def root(self) -> complex:
        """The rightmost root of its linear model, 1/s (of MKC, 1/step): below zero it is stable.

        Raises :class:`ModelError` where there is no equilibrium.
        """
        ...

    @property
    def margins(self) -> Margins | None:
        """The margins of its loop; None if the open loop is unstable."""
        ...

    def guaranteed(self) -> bool:
        """Whether the theorem guarantees stability."""
        ...

    def disturbed(self, end: float) -> tuple[Floats, Floats]:
        """Times (s) and the deviation of the nonlinear model after a small disturbance."""
        ...


@dataclass(frozen=True)
class Axis:
    """An axis of a stability map."""

    label: str
    """The label, with the unit."""
    values: Floats
    """Logarithmically spaced values."""
    here: float
    """The value of the design."""


@dataclass(frozen=True)
class Plane:
    """The plane of a stability map."""

    x: Axis
    y: Axis
    at: Callable[[float, float], Setting]


@dataclass(frozen=True)
class Design:
    """A designed gain or limit, with its rules and assumptions."""

    controller: str
    setting: Any
    """A :class:`Setting` with the designed quantity at its bound."""
    of: str
    """The field of ``setting`` that was designed; ``setting`` is a frozen dataclass."""
    unit: str
    side: Side
    """The stable side of the bound."""
    rules: tuple[Rule, ...]
    """The rules; the design is the bound of the first one."""
    configure: Mapping[str, Value]
    """Values for a scenario."""
    equilibrium: Mapping[str, Value]
    assumptions: tuple[str, ...]
    plane: Plane
    """The plane of its stability map."""
    largest: float = math.inf
    """The largest value for which the model is defined."""
    time: str = "1/s"
    """The unit of roots."""
    reach: float = REACH
    """The largest factor between the bound and the boundary in the search."""

    @property
    def chosen(self) -> float:
        """The bound of the rule."""
        return float(getattr(self.setting, self.of))

    def at(self, value: float) -> Any:
        """The setting with another value of the designed quantity."""
        return replace(self.setting, **{self.of: value})

    def rate(self, value: float) -> float:
        """The real part of the rightmost root at a value, 1/s; infinity where there is no
        equilibrium."""
        try:
            return float(self.at(value).root.real)
        except ModelError:
            return math.inf

    @cached_property
    def boundary(self) -> float | None:
        """The value at which the rightmost root crosses the imaginary axis; None if it does not
        within a factor of ``reach``, or within the range of the quantity."""
        outward = 1.0 if self.side == "below" else -1.0
        factor, inside = STEP**outward, self.chosen
        if self.rate(inside) >= 0:
            inside /= INSIDE**outward
            if self.rate(inside) >= 0:
                return None
        for _ in range(round(math.log(self.reach) / math.log(STEP))):
            if inside >= self.largest:
                return None
            outside = min(inside * factor, self.largest)
            rate = self.rate(outside)
            if math.isinf(rate):
                return None
            if rate >= 0:
                found = brentq(
                    lambda x: self.rate(math.exp(x)), math.log(inside), math.log(outside)
                )
                return math.exp(float(found))
            inside = outside
        return None

    @property
    def share(self) -> float | None:
        """The bound relative to the boundary (inverted if the stable side is above): 1 if the
        theorem is exact. None without a boundary."""
        if self.boundary is None:
            return None
        share = self.chosen / self.boundary
        return share if self.side == "below" else 1 / share

    @cached_property
    def margins(self) -> Margins | None:
        """The margins at the bound."""
        margins: Margins | None = self.setting.margins
        return margins

    @cached_property
    def root(self) -> complex:
        """The rightmost root at the bound, 1/s."""
        return complex(self.setting.root)

    @property
    def damping(self) -> float:
        """The damping of the rightmost root at the bound."""
        return damping(self.root)


def damping(root: complex) -> float:
    """The damping of a root: 1 if real and stable, 0 at the boundary, -1 if real and unstable."""
    return -root.real / abs(root) if root else 0.0


def positive(**values: float) -> None:
    """Raises :class:`ModelError` for the first value that is not a finite number above zero."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {show(value)}, expected a finite number above 0")
