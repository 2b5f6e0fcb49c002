"""Delay differential equations: y'(t) = f(t, y(t), y(t - d_1), ..., y(t - d_m)), by steps.

The classical Runge-Kutta method of order 4 with a fixed step no longer than the shortest delay, so
that every delayed value lies in steps that are done; between steps the solution is the cubic of
Hermite through values and derivatives, whose error is of order 4 as well (Bellen and Zennaro,
"Numerical methods for delay differential equations", 2003, chapter 6). The order is kept where
delays are multiples of the step: then the corners that a history leaves in the derivatives fall on
steps. States that cannot sink below a floor, such as queues, are put back there after each step.

Why not the solver of fluid models (``crates/theory/src/fluid/solver``), which finds its own steps:
it solves what is written in Rust, once for numbers and once for derivatives, while the models of
DRQ and of the designs are Python functions of arrays, one each, with no description that Rust would
read; and a design is tried with disturbances of 1e-6 of the equilibrium, no larger than the error
which that solver allows each step by default.

Why not a library: those on PyPI that are maintained either compile C at run time (jitcdde) or bring
an array framework of their own (diffrax has no delays yet), and none has floors; the method is
short.
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
    """A solution on evenly spaced times."""

    t: Floats
    """s, ``(n,)``, from 0."""
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
    """Solves from 0 to ``end``, s, with a solution up to 0 that is constant or a function of time.

    Raises :class:`ModelError` if the step is above zero but longer than the shortest delay, or if
    the solution grows without bound.
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
        """The delayed values at ``t``, with ``done`` steps done."""
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
