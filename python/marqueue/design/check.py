"""Checks a design with the nonlinear model on both sides of the boundary.

Each run starts with a relative deviation of 10^-6 from the equilibrium. The rate at which the
maximum deviation per period grows or decays is compared with the rightmost root of the linear
model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marqueue.design.design import Design
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats

#: Distance of both runs from the boundary, as a factor.
ASIDE = 1.1
#: A run lasts until the linear model has grown or decayed by a factor of e^FOLD, but at least LEAST
#: and at most MOST periods.
FOLD, LEAST, MOST = 4.0, 8, 400
#: Intervals in the second half of a run whose maximum deviations are compared.
STRETCHES = 8

Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class SideOfBoundary:
    """A run on one side of the boundary."""

    value: float
    """Value of the designed quantity."""
    linear: float
    """Real part of the rightmost root, 1/s."""
    measured: float
    """Growth rate of the nonlinear model, 1/s."""

    @property
    def agrees(self) -> bool:
        """Whether both grow or both decay."""
        return self.linear * self.measured > 0


def check(
    design: Design, progress: Progress = lambda done, total: None
) -> tuple[SideOfBoundary, ...]:
    """Runs the model on both sides of the boundary, or at the design if there is no boundary.

    Raises :class:`ModelError` if the model has no equilibrium there.
    """
    if design.boundary is None:
        values = [design.chosen]
    else:
        out = ASIDE if design.side == "below" else 1 / ASIDE
        values = [design.boundary / out, design.boundary * out]
    trials = []
    for i, value in enumerate(values):
        progress(i, len(values))
        trials.append(_trial(design, value))
    progress(len(values), len(values))
    return tuple(trials)


def _trial(design: Design, value: float) -> SideOfBoundary:
    setting = design.at(value)
    root = complex(setting.root)
    period = 2 * math.pi / abs(root.imag) if root.imag else 1 / abs(root.real)
    end = min(max(FOLD / abs(root.real), LEAST * period), MOST * period)
    t, deviation = setting.disturbed(end)
    if not np.any(deviation):
        raise ModelError(f"{design.of}: the model does not leave its equilibrium")
    return SideOfBoundary(value, root.real, _rate(t, deviation, period))


def _rate(t: Floats, deviation: Floats, period: float) -> float:
    """The slope of the logarithm of the maximum deviations in the second half, 1/s. Each maximum is
    over a whole number of half periods, so that it belongs to the envelope."""
    second = t >= t[-1] / 2
    t, deviation = t[second], np.abs(deviation[second])
    length = max(math.ceil((t[-1] - t[0]) / STRETCHES / (period / 2)), 1) * period / 2
    which = np.floor((t - t[0]) / length).astype(int)
    whole = which < which[-1]
    peaks = [np.flatnonzero(whole & (which == k)) for k in range(which[-1])]
    at = [int(k[np.argmax(deviation[k])]) for k in peaks]
    slope, _ = np.polyfit(t[at], np.log(np.maximum(deviation[at], 1e-300)), 1)
    return float(slope)
