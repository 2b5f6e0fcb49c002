"""Linearization of a scenario's fluid model: equilibrium, characteristic roots, margins.

Deviations z from an equilibrium of the model (:mod:`marqueue.theory.fluid`) obey

    z'(t) = A_0 z(t) + sum of A_k z(t - d_k),

with exact derivatives and the delays at the equilibrium. The quasi-polynomial is det(s I - A_0 -
sum A_k e^(-s d_k)). Its rightmost roots are eigenvalues of the discretized infinitesimal generator
(:mod:`marqueue.theory.linear.characteristic`; Breda, Maset and Vermiglio 2005), refined by Newton's
method. The loop is cut at the signals of links: marks, losses and prices
(:mod:`marqueue.theory.linear.margins`). Equation (3) of Hollot, Misra, Towsley and Gong, INFOCOM
2001 (RED), is the case of one link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.from_scenario import Source, describe
from marqueue.theory.fluid.model import Jacobian
from marqueue.theory.linear.characteristic import Linear, Roots, polished, rightmost
from marqueue.theory.linear.equilibrium import Equilibrium, equilibrium
from marqueue.theory.linear.margins import Loop, Margins

if TYPE_CHECKING:
    pass

#: Degree of the polynomials, and number of roots shown.
DEGREE, SHOWN = 24, 12
#: Roots that differ by less, relative, are the same root.
SAME = 1e-9


@dataclass(frozen=True)
class Linearized:
    """The linearization of a model at its equilibrium."""

    name: str
    """Name of the scenario."""
    source: Source
    """The equation for TCP."""
    equilibrium: Equilibrium
    states: tuple[str, ...]
    """Names of the free states, ``(n,)``; the others rest at a bound."""
    units: tuple[str, ...]
    """Values of these states at the equilibrium."""
    resting: tuple[str, ...]
    """Names of the states at a bound, such as the queue of a link that is not full."""
    closed: Linear
    """A_0, and A_k with d_k, s."""
    open: Linear
    """The same with constant signals of the links (loop cut open)."""
    signals: int
    """Number of independent signals of the links."""

    @cached_property
    def roots(self) -> Roots:
        """The rightmost roots, 1/s, from right to left; only those confirmed by Newton's method."""
        found = rightmost(self.closed, SHOWN, DEGREE)
        # Newton's method converges slowly at multiple roots.
        sure: list[complex] = [complex(found[0])]
        for i, near in enumerate(found):
            exact = polished(self.closed, complex(near))
            if exact is None:
                continue
            if i == 0:
                sure = [exact]
            elif min(abs(exact - each) for each in sure) > SAME * abs(exact):
                sure.append(exact)
        roots = np.array(sure)
        return roots[np.lexsort((-roots.imag, -roots.real))]

    @property
    def stable(self) -> bool:
        """Whether all roots are left of the imaginary axis."""
        return bool(self.roots[0].real < 0)

    @property
    def damping(self) -> float:
        """Damping of the rightmost root: 1 if it is real and stable, 0 at the stability
        boundary."""
        root = complex(self.roots[0])
        return -root.real / abs(root) if root else 0.0

    @property
    def period(self) -> float:
        """Period of the rightmost root, s; infinity if it is real."""
        frequency = abs(self.roots[0].imag)
        return 2 * math.pi / frequency if frequency else math.inf

    @cached_property
    def loop(self) -> Loop:
        """The closed loop, and the loop cut at the signals of the links."""
        return Loop(self.closed, self.open, max(self.signals, 1))

    def margins(self) -> Margins | None:
        """Gain, phase (degrees) and delay margins (s). None for an unstable loop, or if no link
        sends a variable signal."""
        return self._margins

    @cached_property
    def _margins(self) -> Margins | None:
        return self.loop.margins() if self.stable and self.signals else None

    def response(self, frequency: Floats) -> Roots:
        """L(jw) at frequencies in rad/s, ``(n,)``, with exact delays; for several links det(I + L)
        - 1."""
        return self.loop.response(frequency)

    def polynomial(self, s: complex) -> complex:
        """The quasi-polynomial det(s I - A_0 - sum A_k e^(-s d_k)) at ``s``, 1/s."""
        return complex(np.linalg.det(self.closed.matrix(s)))

    def to_dict(self) -> dict[str, Any]:
        """All results for JSON; names contain the base units."""
        margins = self.margins()
        return {
            "scenario": self.name,
            "source": self.source,
            "equilibrium": self.equilibrium.to_dict(),
            "states": [
                {"name": name, "unit": unit}
                for name, unit in zip(self.states, self.units, strict=True)
            ],
            "resting": list(self.resting),
            "jacobian_now": self.closed.now.tolist(),
            "jacobian_delayed": [
                {"delay_s": delay, "matrix": matrix.tolist()}
                for delay, matrix in self.closed.delayed
            ],
            "quasi_polynomial": "det(s I - now - sum of delayed exp(-s delay))",
            "stable": self.stable,
            "roots_per_s": [[float(z.real), float(z.imag)] for z in self.roots],
            "damping": self.damping,
            "period_s": _finite(self.period),
            "margins": None if margins is None else _plain(margins),
        }


def linearize(scenario: Scenario, source: Source = "reno") -> Linearized:
    """Linearizes the fluid model of a scenario at its equilibrium, with the links and flows that
    exist at its end.

    Raises :class:`~marqueue.errors.ScenarioError` with every assumption of the model that the
    scenario breaks, :class:`~marqueue.errors.ModelError` if it has no equilibrium.

    Example::

        from marqueue import scenario, theory

        linear = theory.linearize(scenario.load("scenario.toml"))
        print(linear.roots[0], linear.margins())
    """
    end = scenario.duration.seconds
    return linearize_at(scenario.name, source, equilibrium(describe(scenario, source), end))


def linearize_at(name: str, source: Source, at: Equilibrium) -> Linearized:
    """The linearization at a given equilibrium."""
    model, y = at.model, at.states
    whole, cut = model.jacobian(y), model.jacobian(y, mute=True)
    moves = whole.free
    named = list(zip(model.states, moves, strict=True))
    closed, opened = whole.reduced(), cut.reduced()
    told = (closed.now != opened.now).any() or (closed.then != opened.then).any()
    return Linearized(
        name=name,
        source=source,
        equilibrium=at,
        states=tuple(state.name for state, free in named if free),
        units=tuple(state.unit for state, free in named if free),
        resting=tuple(state.name for state, free in named if not free),
        closed=_linear(closed),
        open=_linear(opened),
        signals=_rank(closed, opened) if told else 0,
    )


def _linear(of: Jacobian) -> Linear:
    """The linear system of a Jacobian; terms with the same delay are added."""
    delayed: dict[float, Floats] = {}
    for lag, matrix in zip(of.lags, of.then, strict=True):
        if matrix.any():
            delayed[float(lag)] = delayed.get(float(lag), np.zeros_like(matrix)) + matrix
    return Linear(of.now, list(delayed.items()))


def _rank(closed: Jacobian, opened: Jacobian) -> int:
    """Number of cut signals: the rank of the difference of the systems at any frequency."""
    s = 1j / max(float(closed.lags.max(initial=0.0)), 1e-3)
    there, gone = _linear(closed).matrix(s), _linear(opened).matrix(s)
    return int(np.linalg.matrix_rank(np.linalg.solve(gone, there - gone), rtol=1e-9))


def _plain(margins: Margins) -> Mapping[str, float | None]:
    return {
        "gain": _finite(margins.gain),
        "phase_degrees": _finite(margins.phase),
        "delay_s": _finite(margins.delay),
        "gain_crossover_rad_per_s": _finite(margins.gain_crossover),
        "phase_crossover_rad_per_s": _finite(margins.phase_crossover),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
