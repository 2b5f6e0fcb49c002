"""Roots, margins and disturbed runs of settings with delays."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.statistics.estimates import Floats
from marqueue.theory.dde import Field, solve
from marqueue.theory.linear.characteristic import rightmost
from marqueue.theory.linear.margins import Loop, Margins

#: Degree of polynomials for roots; accurate within about 8/d of zero.
DEGREE = 24
#: Steps of a run per inverse of the rightmost root, and per inverse of the fastest rate without
#: delay; and the relative deviation from the equilibrium at its start.
OF_ROOT, OF_RATE, DISTURBANCE = 10, 2, 1e-6


@dataclass(frozen=True)
class Nonlinear:
    """A fluid model with its equilibrium."""

    field: Field
    delays: Sequence[float]
    equilibrium: Floats
    floor: float | Floats = 0.0


class DelayedSetting(ABC):
    """A setting with a model of delay differential equations."""

    @property
    @abstractmethod
    def loop(self) -> Loop:
        """The linear model. Raises :class:`~marqueue.errors.ModelError` where there is no
        equilibrium."""

    @property
    @abstractmethod
    def fluid(self) -> Nonlinear:
        """The nonlinear model."""

    @property
    def root(self) -> complex:
        """The rightmost root, 1/s."""
        return complex(rightmost(self.loop.closed, degree=DEGREE)[0])

    @property
    def margins(self) -> Margins:
        """The margins of the loop."""
        return self.loop.margins()

    def disturbed(self, end: float) -> tuple[Floats, Floats]:
        """Times (s) and the deviation of the first state, which starts off its equilibrium."""
        fluid = self.fluid
        start = fluid.equilibrium.copy()
        start[0] *= 1 + DISTURBANCE
        fastest = np.abs(np.linalg.eigvals(self.loop.closed.now)).max()
        shortest = min(fluid.delays)
        # The step divides the shortest delay, which keeps the order of the solver.
        steps = math.ceil(shortest * max(OF_ROOT * abs(self.root), OF_RATE * fastest))
        step = shortest / steps
        done = solve(fluid.field, start, fluid.delays, end, step, fluid.floor)
        return done.t, np.asarray(done.y[:, 0] - fluid.equilibrium[0])
