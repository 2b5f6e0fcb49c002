"""Frequency responses and margins of loops with delays, exact: e^(-s d) is taken as it is.

A loop is a closed system and the same system cut open. With M(s) = s I - A_0 - sum A_j e^(-s d_j)
of each, what comes back through the cut is

    L(s) = M_open(s)^-1 M_closed(s) - I,

so that the cut needs no inputs or outputs named. L has as many eigenvalues that are not zero as
there are signals cut; one by one they are the loops (characteristic loci: MacFarlane and
Postlethwaite, Int. J. Control 25(1), 1977), and det(I + L) = det M_closed / det M_open is what
Nyquist's criterion counts turns of. Gain margin: by what factor all loops may grow before one is
-1; phase margin: by what angle they may turn; delay margin: what delay does that, the least over
all frequencies at which a locus has size 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq, linear_sum_assignment

from marqueue.statistics.estimates import Floats
from marqueue.theory.linear.characteristic import Linear, Roots

_Of = Callable[[complex], float]

#: Frequencies of a response, logarithmic; crossings between two of them are found exactly.
POINTS = 2000
#: How far below the slowest and above the fastest rate of the system frequencies go.
BELOW, ABOVE = 1e-2, 30.0
#: A locus that is smaller than this is none: rounding of eigenvalues that are zero.
NOTHING = 1e-9


@dataclass(frozen=True)
class Margins:
    """How far a stable loop is from instability; infinity where nothing of the kind can happen."""

    gain: float
    """The least factor above 1 by which the loop gain may be multiplied."""
    phase: float
    """Degrees; the least over all crossovers."""
    delay: float
    """The least delay added to the loop that makes it unstable: s, of maps steps."""
    gain_crossover: float
    """rad/s, of maps rad/step, at which ``phase`` is; nan if no locus has size 1 anywhere."""
    phase_crossover: float
    """The same at which ``gain`` is; nan if no locus crosses the negative axis."""


@dataclass(frozen=True)
class Loop:
    """A loop, closed and cut open at one signal or several."""

    closed: Linear
    open: Linear
    signals: int = 1

    def response(self, frequency: Floats) -> Roots:
        """det(I + L) - 1 at frequencies in rad/s, ``(n,)``: L itself where one signal is cut."""
        found = [
            np.linalg.det(np.eye(len(self.open.now)) + self._back(1j * w)) - 1 for w in frequency
        ]
        return np.array(found)

    def loci(self, frequency: Floats) -> Roots:
        """The eigenvalues of L, ``(n, signals)``, each column one that is continuous."""
        found = np.array([self._at(w) for w in frequency])
        for before, now in pairwise(found):
            far = np.abs(before[:, None] - now[None, :])
            now[:] = now[linear_sum_assignment(far)[1]]
        return found

    def _back(self, s: complex) -> Roots:
        opened = self.open.matrix(s)
        return np.linalg.solve(opened, self.closed.matrix(s) - opened).astype(np.complex128)

    def _at(self, w: float) -> Roots:
        values = np.linalg.eigvals(self._back(1j * w)).astype(np.complex128)
        largest: Roots = values[np.argsort(-np.abs(values))[: self.signals]]
        return largest

    @property
    def frequencies(self) -> Floats:
        """rad/s: from well below the slowest rate of the system to well above the fastest."""
        delays = [delay for delay, _ in self.closed.delayed]
        rates = [*np.abs(np.linalg.eigvals(self.closed.undelayed)), *(1 / d for d in delays)]
        rates += list(np.abs(np.linalg.eigvals(self.closed.now)))
        some = [rate for rate in rates if rate > NOTHING * max(rates)]
        return np.geomspace(BELOW * min(some), ABOVE * max(some), POINTS)

    def margins(self) -> Margins:
        """Of a stable loop; of an unstable one they mean nothing."""
        return margins(self.frequencies, self.loci(self.frequencies), self._at)


def margins(w: Floats, loci: Roots, at: Callable[[float], Roots]) -> Margins:
    """Of loci that are known at frequencies, ``(n, signals)``, and can be asked for at any.

    Time is in any unit: that of ``w`` is its inverse, in rad, and the delay's it.
    """
    phase, delay, gain = math.inf, math.inf, math.inf
    at_gain = at_phase = math.nan
    for locus in loci.T:
        for cross, value in _crossings(w, locus, np.log(np.abs(locus) + 1e-300), _size, at):
            # A delay turns clockwise, to -pi; the phase margin is to the nearer side.
            clockwise = float((np.angle(value) + math.pi) % (2 * math.pi))
            nearest = math.degrees(min(clockwise, 2 * math.pi - clockwise))
            delay = min(delay, clockwise / cross)
            if nearest < phase:
                phase, at_gain = nearest, cross
        for cross, value in _crossings(w, locus, locus.imag, _side, at):
            size = abs(value)
            if value.real < 0 and NOTHING < size < 1 and 1 / size < gain:
                gain, at_phase = 1 / size, cross
    return Margins(gain, phase, delay, at_gain, at_phase)


def _crossings(
    w: Floats, locus: Roots, values: Floats, of: _Of, at: Callable[[float], Roots]
) -> list[tuple[float, complex]]:
    """Where a function of a locus is zero, with the locus there."""
    found = []
    for i in np.flatnonzero(values[:-1] * values[1:] < 0):

        def near(x: float, i: int = int(i)) -> complex:
            share = (x - w[i]) / (w[i + 1] - w[i])
            about = locus[i] + share * (locus[i + 1] - locus[i])
            there = at(x)
            return complex(there[np.argmin(np.abs(there - about))])

        ends = of(near(w[i])), of(near(w[i + 1]))
        if ends[0] * ends[1] < 0:
            cross = float(brentq(lambda x: of(near(x)), w[i], w[i + 1]))
            found.append((cross, near(cross)))
    return found


def _size(value: complex) -> float:
    return math.log(abs(value) + 1e-300)


def _side(value: complex) -> float:
    return value.imag
