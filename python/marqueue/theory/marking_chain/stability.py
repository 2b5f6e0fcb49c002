"""Stability of the mean field of the chain: the full distribution of windows, any classes and
slots.

Given their windows, flows are marked independently. For many flows the load of the next slot is
therefore its expectation: with p_N at the given N, the shares of flows at each window follow a
deterministic map. At its fixed point the load is the same in all slots. A small change of the load
in slot s changes the marks in the round trips that contain s, and through the windows the loads of
later slots. For a change z^s the response is

    G(z) = sum_c n_c / (N r_c) S / (r_c CT) z^(1-r) (1 + z + ... + z^(r-1))^2 d_c (z^r - M_c)^-1 w

with r_c the slots of class c's round trip, S the slots of T, M_c the transition matrix of one
flow's window, d_c the change of the distribution of windows a round trip after a change of the load
in one slot, and w = (1, 2, ...). G has no pole on or outside the unit circle. The fixed point is
stable if and only if G on the circle does not encircle 1 (Nyquist). The gain margin is the factor
by which G may grow before it passes through 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marqueue.errors import ModelError
from marqueue.theory.marking_chain.model import Model

Floats = npt.NDArray[np.float64]

STEP = 1e-5
"""Step of a numerical derivative by the load, relative to 1 - rho."""

POINTS = 4096
"""Number of points on the upper half of the unit circle."""


@dataclass(frozen=True)
class MeanField:
    """The fixed point of the distribution of windows."""

    load: float
    """rho."""
    windows: tuple[Floats, ...]
    """Share of each class's flows at window w, at index w - 1."""
    echo: npt.NDArray[np.complex128]
    """G on the upper half of the unit circle, from z = 1 to z = -1."""

    @property
    def around(self) -> int:
        """Encirclements of 1 by G on the whole unit circle: the number of eigenvalues outside
        it."""
        turn = np.angle(1 - self.echo)
        return abs(round(float(np.diff(np.unwrap(turn)).sum()) / np.pi))

    @property
    def stable(self) -> bool:
        """Whether small deviations decay."""
        return self.around == 0

    @property
    def _crossing(self) -> tuple[float, float]:
        """The largest real value of G on the circle, and its angle."""
        x, y = self.echo.real, self.echo.imag
        angle = np.linspace(0, np.pi, len(x))
        best = (float(x[-1]), np.pi)
        for i in np.nonzero(y[:-2] * y[1:-1] < 0)[0]:
            at = y[i] / (y[i] - y[i + 1])
            value = float(x[i] + at * (x[i + 1] - x[i]))
            if value > best[0]:
                best = value, float(angle[i] + at * (angle[i + 1] - angle[i]))
        return best

    @property
    def margin(self) -> float:
        """Gain margin; below 1 the fixed point oscillates."""
        value, _ = self._crossing
        return 1 / value if value > 0 else np.inf

    def period(self, slots: int) -> float:
        """Period of the oscillation at the boundary, in T."""
        return 2 * np.pi / self._crossing[1] / slots


def mean_field(model: Model) -> MeanField:
    """The fixed point and the response G. Raises :class:`ModelError` if the link is overloaded."""
    load = _fixed_load(model)
    if load > 1 - 1e-12:
        raise ModelError(
            f"ct: got {model.ct:g}: with windows of at least one packet the link is overloaded, "
            "and the mean field has no fixed point below a load of 1"
        )
    z = np.exp(1j * np.linspace(0, np.pi, POINTS + 1))
    echo = np.zeros(len(z), dtype=complex)
    slots, laws = model.steps_per_unit, []
    size = np.arange(1, model.window + 1, dtype=float)
    for count, r in zip(model.counts, model.steps_per_rtt, strict=True):
        step = STEP * (1 - load)
        below, marked, above = _marked(model, np.array([load - step, load, load + step]), r)
        law = stationary(marked)
        laws.append(law)
        # One slot of r contributes its share of the derivative.
        turned = law * (above - below) / (2 * step) / r
        change = _moved(turned, np.ones(len(law))) - _moved(turned, np.zeros(len(law)))
        once = np.polyval(np.ones(r), z)
        weight = count / model.flows / r * slots / (r * model.ct)
        echo += weight * z ** (1 - r) * once**2 * _resolvent(change, marked, size, z**-r)
    return MeanField(load, tuple(laws), echo)


def stationary(marked: Floats) -> Floats:
    """The stationary distribution of one flow's window under constant marking probabilities,
    ``marked[w - 1]`` at window w."""
    n = len(marked)
    at = np.arange(n)
    system = -np.eye(n)
    system[np.maximum((at + 1) // 2, 1) - 1, at] += marked
    system[np.minimum(at + 1, n - 1), at] += 1 - marked
    system[-1] = 1.0
    law = np.clip(np.linalg.solve(system, np.eye(n)[-1]), 0.0, None)
    return np.asarray(law / law.sum())


def _moved(shares: Floats, marked: Floats) -> Floats:
    """The shares of windows a round trip later."""
    n = len(shares)
    at = np.arange(n)
    halved = np.maximum((at + 1) // 2, 1) - 1
    grown = np.minimum(at + 1, n - 1)
    after = np.bincount(halved, shares * marked, n) + np.bincount(grown, shares * (1 - marked), n)
    return after.astype(float)


def _resolvent(change: Floats, marked: Floats, size: Floats, u: npt.NDArray[np.complex128]) -> Any:
    """d (z^r - M)^-1 w at u = z^-r, as the sum of u^(k+1) d M^k w until the terms vanish."""
    echoes: list[float] = []
    while np.abs(change).sum() * size[-1] > 1e-13 * (1 + abs(sum(echoes[:1]))):
        echoes.append(float(change @ size))
        change = _moved(change, marked)
        if len(echoes) > 200_000:
            raise ModelError("windows forget too slowly for the mean field to be looked at")
    return u * np.polyval(echoes[::-1], u)


def _marked(model: Model, loads: Floats, r: int) -> Floats:
    """How likely marks are in a round trip of r slots of one load: a row a load, by window."""
    return 1 - (1 - model.at.marking(loads, np.arange(1, model.window + 1) / r)) ** r


def _fixed_load(model: Model) -> float:
    """The load that brings itself: more of it marks more, which makes windows smaller."""
    slots, size = model.steps_per_unit, np.arange(1, model.window + 1)

    def brought(load: float) -> float:
        total = 0.0
        for count, r in zip(model.counts, model.steps_per_rtt, strict=True):
            mean = float(stationary(_marked(model, np.array([load]), r)[0]) @ size)
            total += count / model.flows * mean * slots / (r * model.ct)
        return total

    # Loading scipy.optimize takes longer than many a run.
    from scipy.optimize import brentq

    if brought(1 - 1e-12) > 1:
        return 1.0
    return float(brentq(lambda load: brought(load) - load, 0.0, 1 - 1e-12, xtol=1e-14, rtol=1e-14))
