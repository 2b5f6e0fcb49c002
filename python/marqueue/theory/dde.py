"""A solver of delay differential equations y'(t) = f(t, y(t), y(t - d_1), ..., y(t - d_m)).

It uses the classical Runge-Kutta method of order 4 with a fixed step no longer than the shortest
delay, so that every delayed value lies in completed steps. Between steps the solution is the cubic
Hermite interpolant of values and derivatives, also of order 4 (Bellen and Zennaro, "Numerical
methods for delay differential equations", 2003, chapter 6). The order is kept if delays are
multiples of the step: discontinuities of the derivatives then fall on steps. States with a floor,
such as queues, are set back to it after each step.

The adaptive solver of fluid models (``crates/theory/src/fluid/solver``) is not used here: it solves
only equations written in Rust, while the models of DRQ and of designs are Python functions of
arrays. Designs are also tested with disturbances of 1e-6 of the equilibrium, no larger than that
solver's default error per step.

Maintained libraries on PyPI either compile C at run time (jitcdde) or bring their own array
framework (diffrax, without delays so far); none supports floors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats

Field = Callable[[float, Floats, Floats], Floats]
"""f(t, y, delayed): ``delayed[j]`` is y(t - d_j)."""


@dataclass(frozen=True)
class Solution:
    """A solution at evenly spaced times."""

    t: Floats
    """Times, s, ``(n,)``, from 0."""
    y: Floats
    """``(n, states)``."""


def solve(
    f: Field,
    history: Floats | Callable[[float], Floats],
    delays: Sequence[float],
    end: float,
    step: float,
    floor: float | Floats = -np.inf,
) -> Solution:
    """Solves from 0 to ``end``, s. Before 0 the solution is constant or a given function of time.

    Raises :class:`ModelError` if the step is not above zero or longer than the shortest delay, or
    if the solution grows without bound.
    """
    shortest = min(delays, default=np.inf)
    if not 0 < step <= shortest:
        raise ModelError(
            f"step: got {step:g} s, expected above 0 and at most the shortest delay, {shortest:g} s"
        )
    past = history if callable(history) else lambda _: history
    steps = round(end / step)
    start = np.asarray(past(0.0), dtype=float)
    y = np.zeros((steps + 1, len(start)))
    slope = np.zeros_like(y)
    y[0] = start
    lags = np.asarray(delays, dtype=float)

    def at(t: float, done: int) -> Floats:
        """The delayed values at ``t`` after ``done`` steps."""
        when = t - lags
        k = np.clip(np.floor(when / step).astype(int), 0, max(done - 1, 0))
        u = (when / step - k)[:, None]
        left, right = y[k], y[k + 1] if done else y[k]
        between: Floats = (
            left
            + u * (right - left)
            + u
            * (u - 1)
            * (
                (1 - 2 * u) * (right - left)
                + step * ((u - 1) * slope[k] + u * slope[k + (done > 0)])
            )
        )
        for j in np.flatnonzero(when <= 0):
            between[j] = past(float(when[j]))
        return between

    for n in range(steps):
        t = n * step
        slope[n] = f(t, y[n], at(t, n))
        half = at(t + step / 2, n)
        k2 = f(t + step / 2, np.maximum(y[n] + step / 2 * slope[n], floor), half)
        k3 = f(t + step / 2, np.maximum(y[n] + step / 2 * k2, floor), half)
        k4 = f(t + step, np.maximum(y[n] + step * k3, floor), at(t + step, n))
        y[n + 1] = np.maximum(y[n] + step / 6 * (slope[n] + 2 * (k2 + k3) + k4), floor)
        if not np.isfinite(y[n + 1]).all():
            raise ModelError(f"the solution grows without bound, at {t:g} s")
    return Solution(step * np.arange(steps + 1, dtype=float), y)
