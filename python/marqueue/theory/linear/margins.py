"""Frequency responses and stability margins of loops with delays; e^(-s d) is exact.

A loop is given as a closed system and the same system with its feedback cut. With M(s) = s I - A_0
- sum A_j e^(-s d_j) of each, the loop gain is

    L(s) = M_open(s)^-1 M_closed(s) - I,

so that inputs and outputs of the cut need not be named. L has as many nonzero eigenvalues as
signals are cut; each is a loop (characteristic loci: MacFarlane and Postlethwaite, Int. J. Control
25(1), 1977). Nyquist's criterion counts the encirclements of det(I + L) = det M_closed / det
M_open. The gain margin is the factor by which all loops may grow before a locus passes through -1,
the phase margin the angle by which they may turn. The delay margin is the additional delay that
does the same, the smallest over all frequencies at which a locus has modulus 1.
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

#: Number of frequencies, spaced logarithmically; crossings between them are refined by root
#: finding.
POINTS = 2000
#: Factor by which frequencies extend below the slowest and above the fastest rate of the system.
BELOW, ABOVE = 1e-2, 30.0
#: Loci smaller than this are rounding errors of zero eigenvalues.
NOTHING = 1e-9


@dataclass(frozen=True)
class Margins:
    """Distances of a stable loop from instability; infinity if no such change destabilizes it."""

    gain: float
    """Smallest factor above 1 by which the loop gain may grow."""
    phase: float
    """Phase margin, degrees; the smallest over all crossovers."""
    delay: float
    """Smallest additional delay that makes the loop unstable, s; of maps, steps."""
    gain_crossover: float
    """Frequency of the phase margin, rad/s; of maps, rad/step. NaN if no locus has modulus 1."""
    phase_crossover: float
    """Frequency of the gain margin, likewise. NaN if no locus crosses the negative real axis."""


@dataclass(frozen=True)
class Loop:
    """A feedback loop: the closed system, and the system with one or more signals cut."""

    closed: Linear
    open: Linear
    signals: int = 1

    def response(self, frequency: Floats) -> Roots:
        """det(I + L) - 1 at frequencies in rad/s, ``(n,)``: L itself if one signal is cut."""
        found = [
            np.linalg.det(np.eye(len(self.open.now)) + self._back(1j * w)) - 1 for w in frequency
        ]
        return np.array(found)

    def loci(self, frequency: Floats) -> Roots:
        """The eigenvalues of L, ``(n, signals)``; each column is continuous in frequency."""
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
        """Frequencies from well below the slowest to well above the fastest rate of the system,
        rad/s."""
        delays = [delay for delay, _ in self.closed.delayed]
        rates = [*np.abs(np.linalg.eigvals(self.closed.undelayed)), *(1 / d for d in delays)]
        rates += list(np.abs(np.linalg.eigvals(self.closed.now)))
        some = [rate for rate in rates if rate > NOTHING * max(rates)]
        return np.geomspace(BELOW * min(some), ABOVE * max(some), POINTS)

    def margins(self) -> Margins:
        """The margins of a stable loop; of an unstable loop they are meaningless."""
        return margins(self.frequencies, self.loci(self.frequencies), self._at)


def margins(w: Floats, loci: Roots, at: Callable[[float], Roots]) -> Margins:
    """Margins of loci given at frequencies, ``(n, signals)``; ``at`` evaluates them at any
    frequency.

    ``w`` is in rad per unit of time; the delay margin is in that unit of time.
    """
    phase, delay, gain = math.inf, math.inf, math.inf
    at_gain = at_phase = math.nan
    for locus in loci.T:
        for cross, value in _crossings(w, locus, np.log(np.abs(locus) + 1e-300), _size, at):
            # A delay turns clockwise, to -pi; the phase margin is the angle in the nearer
            # direction.
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
    """Frequencies at which a function of a locus is zero, with the locus there."""
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
