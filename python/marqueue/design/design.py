"""What a design says, whatever the controller."""

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
Kind = Literal["sufficient", "exact"]

#: Factors between values at which the boundary is looked for, and how far from the bound; and how
#: far inside the bound it begins: a bound that is exact is on the boundary.
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
    """What one theorem allows."""

    theorem: str
    source: str
    bound: float | None
    """The value up to which (or from which) it guarantees stability; None if it guarantees none."""
    kind: Kind


class Setting(Protocol):
    """A controller with all its gains, on a link or a network with all that is known of it."""

    @property
    def root(self) -> complex:
        """The rightmost root of its linear model, 1/s (of MKC, 1/step): below zero it is stable.

        Raises :class:`ModelError` where there is no equilibrium.
        """
        ...

    @property
    def margins(self) -> Margins | None:
        """Of its loop; None where it is not stable cut open."""
        ...

    def guaranteed(self) -> bool:
        """Does the theorem guarantee stability here?"""
        ...

    def disturbed(self, end: float) -> tuple[Floats, Floats]:
        """Times, s, and a deviation of the nonlinear model that begins small beside its
        equilibrium."""
        ...


@dataclass(frozen=True)
class Axis:
    """One side of a stability map."""

    label: str
    """With the unit."""
    values: Floats
    """Logarithmic."""
    here: float
    """The value of the design."""


@dataclass(frozen=True)
class Plane:
    """What a stability map is of."""

    x: Axis
    y: Axis
    at: Callable[[float, float], Setting]


@dataclass(frozen=True)
class Design:
    """A gain or a limit, with what it rests on."""

    controller: str
    setting: Any
    """A :class:`Setting` with the designed quantity at its bound."""
    of: str
    """The field of ``setting`` that was designed; ``setting`` is a frozen dataclass."""
    unit: str
    side: Side
    """Where it is stable: below the bound or above it."""
    rules: tuple[Rule, ...]
    """The first one is what was designed by."""
    configure: Mapping[str, Value]
    """What to write into a scenario."""
    equilibrium: Mapping[str, Value]
    assumptions: tuple[str, ...]
    plane: Plane
    """For a stability map."""
    largest: float = math.inf
    """A bound beyond which the quantity has no meaning, or the model no equilibrium."""
    time: str = "1/s"
    """In what roots are."""
    reach: float = REACH
    """By what factor from the bound the boundary is looked for."""

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
        """Where the rightmost root of the linear model crosses the imaginary axis; None if it does
        not within a factor of ``reach``, or before the quantity loses its meaning."""
        outward = 1.0 if self.side == "below" else -1.0
        factor, inside = STEP**outward, self.chosen / INSIDE**outward
        if self.rate(inside) >= 0:
            return None
        for _ in range(round(math.log(self.reach) / math.log(STEP))):
            outside = inside * factor
            if self.side == "below" and outside > self.largest:
                return None
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
        """The bound as a share of the boundary (or the other way round, where stable is above):
        1 if the theorem gives nothing away."""
        if self.boundary is None:
            return None
        share = self.chosen / self.boundary
        return share if self.side == "below" else 1 / share

    @cached_property
    def margins(self) -> Margins | None:
        """At the bound."""
        margins: Margins | None = self.setting.margins
        return margins

    @cached_property
    def root(self) -> complex:
        """The rightmost at the bound, 1/s."""
        return complex(self.setting.root)

    @property
    def damping(self) -> float:
        """Of the rightmost root at the bound."""
        return damping(self.root)


def damping(root: complex) -> float:
    """Of a root: 1 where it is real and stable, 0 at the boundary, -1 real and unstable."""
    return -root.real / abs(root) if root else 0.0


def positive(**values: float) -> None:
    """Raises :class:`ModelError` for the first value that is not a finite number above zero."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {show(value)}, expected a finite number above 0")
