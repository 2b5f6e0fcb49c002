"""The linear form of a scenario's fluid model: equilibrium, roots, margins.

Around an equilibrium y* of the model (:mod:`marqueue.theory.fluid`) deviations z obey

    z'(t) = A_0 z(t) + sum of A_k z(t - d_k),

with exact derivatives and the delays of the equilibrium; the quasi-polynomial is
det(s I - A_0 - sum A_k e^(-s d_k)). Its rightmost roots are eigenvalues of the discretised
infinitesimal generator (:mod:`marqueue.theory.linear.characteristic`; Breda, Maset and Vermiglio
2005), made exact by Newton's method. The loop is cut where links tell: marks, losses and prices
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

#: Degree of the polynomials, and how many roots are shown.
DEGREE, SHOWN = 24, 12
#: Roots that differ by less, relative, are one.
SAME = 1e-9


@dataclass(frozen=True)
class Linearized:
    """The linear form of a model around its equilibrium."""

    name: str
    """Of the scenario."""
    source: Source
    """The equation for TCP."""
    equilibrium: Equilibrium
    states: tuple[str, ...]
    """Names of the states that move, ``(n,)``; the others rest at a bound."""
    units: tuple[str, ...]
    """Of these states."""
    resting: tuple[str, ...]
    """Names of the states that rest at a bound, as the queue of a link that is not full."""
    closed: Linear
    """A_0 and A_k with d_k, s."""
    open: Linear
    """The same where links tell the same for ever."""
    signals: int
    """How many links tell something that changes."""

    @cached_property
    def roots(self) -> Roots:
        """The rightmost, 1/s, from the right; those of which Newton's method has made sure."""
        found = rightmost(self.closed, SHOWN, DEGREE)
        # A multiple root is one that Newton's method only creeps up to.
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
        """Are all roots left of the imaginary axis?"""
        return bool(self.roots[0].real < 0)

    @property
    def damping(self) -> float:
        """Of the rightmost root: 1 where it is real and stable, 0 at the boundary."""
        root = complex(self.roots[0])
        return -root.real / abs(root) if root else 0.0

    @property
    def period(self) -> float:
        """Of the rightmost root, s; infinity where it is real."""
        frequency = abs(self.roots[0].imag)
        return 2 * math.pi / frequency if frequency else math.inf

    @cached_property
    def loop(self) -> Loop:
        """Closed and cut open where links tell."""
        return Loop(self.closed, self.open, max(self.signals, 1))

    def margins(self) -> Margins | None:
        """Gain, phase (degrees) and delay margin (s); None of an unstable loop, and where no link
        tells anything that changes."""
        return self._margins

    @cached_property
    def _margins(self) -> Margins | None:
        return self.loop.margins() if self.stable and self.signals else None

    def response(self, frequency: Floats) -> Roots:
        """L(jw) at frequencies in rad/s, ``(n,)``, e^(-jwd) as it is; with several links
        det(I + L) - 1."""
        return self.loop.response(frequency)

    def polynomial(self, s: complex) -> complex:
        """The quasi-polynomial det(s I - A_0 - sum A_k e^(-s d_k)) at ``s``, 1/s."""
        return complex(np.linalg.det(self.closed.matrix(s)))

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; base units stand in names."""
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
    """The linear form of the fluid model of a scenario, at the equilibrium of the links and flows
    that there are at its end.

    Raises :class:`~marqueue.errors.ScenarioError` with every assumption of the model that the
    scenario breaks, :class:`~marqueue.errors.ModelError` if it has no equilibrium.

    Example::

        from marqueue import scenario, theory

        linear = theory.linearize(scenario.load("scenario.toml"))
        print(linear.roots[0], linear.margins())
    """
    end = scenario.duration.seconds
    return of_equilibrium(scenario.name, source, equilibrium(describe(scenario, source), end))


def of_equilibrium(name: str, source: Source, at: Equilibrium) -> Linearized:
    """The linear form around an equilibrium."""
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
    """Looks of the same delay are one."""
    delayed: dict[float, Floats] = {}
    for lag, matrix in zip(of.lags, of.then, strict=True):
        if matrix.any():
            delayed[float(lag)] = delayed.get(float(lag), np.zeros_like(matrix)) + matrix
    return Linear(of.now, list(delayed.items()))


def _rank(closed: Jacobian, opened: Jacobian) -> int:
    """How many signals the cut goes through: the rank of what it takes away, at any frequency."""
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
