"""Frequency responses and margins of loops with delays, exact: e^(-s d) is taken as it is.

A loop is a closed system and the same system cut open. With M(s) = s I - A_0 - sum A_j e^(-s d_j),

    1 + L(s) = det M_closed(s) / det M_open(s),

L being the open loop, so that the cut needs no inputs or outputs named (Nyquist 1932; for several
loops at once 1 + L is the return difference of all of them). Gain margin: by what factor |L| may
grow before L(jw) reaches -1; phase margin: by what angle it may turn; delay margin: what delay does
that, the least over all frequencies at which |L| = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from marqueue.stats import Floats
from marqueue.theory.characteristic import Linear, Roots

#: Frequencies of a response, logarithmic; crossings between two of them are found exactly.
POINTS = 3000
#: How far below the slowest and above the fastest rate of the system frequencies go.
BELOW, ABOVE = 1e-3, 1e2


@dataclass(frozen=True)
class Margins:
    """How far a stable loop is from instability; infinity where nothing of the kind can happen."""

    gain: float
    """The least factor above 1 by which the loop gain may be multiplied."""
    phase: float
    """Degrees; the least over all crossovers."""
    delay: float
    """s: the least delay added to the loop that makes it unstable."""
    gain_crossover: float
    """rad/s at which ``phase`` is; nan if |L| never crosses 1."""
    phase_crossover: float
    """rad/s at which ``gain`` is; nan if L never crosses the negative axis."""


@dataclass(frozen=True)
class Loop:
    """A loop, closed and cut open."""

    closed: Linear
    open: Linear

    def response(self, frequency: Floats) -> Roots:
        """L(jw), ``(n,)``, at frequencies in rad/s."""
        return np.array([self._at(w) for w in frequency])

    def _at(self, w: float) -> complex:
        s = 1j * w
        closed = np.linalg.det(self.closed.matrix(s))
        return complex(closed / np.linalg.det(self.open.matrix(s)) - 1)

    @property
    def frequencies(self) -> Floats:
        """rad/s: from well below the slowest rate of the system to well above the fastest."""
        delays = [delay for delay, _ in self.closed.delayed]
        rates = [*np.abs(np.linalg.eigvals(self.closed.undelayed)), *(1 / d for d in delays)]
        rates += list(np.abs(np.linalg.eigvals(self.closed.now)))
        some = [rate for rate in rates if rate > 1e-12]
        return np.geomspace(BELOW * min(some), ABOVE * max(some), POINTS)

    def margins(self) -> Margins:
        """Of a stable loop; of an unstable one they mean nothing."""
        w = self.frequencies
        response = self.response(w)
        phase, delay, at_gain = self._turns(w, response)
        gain, at_phase = self._grows(w, response)
        return Margins(gain, phase, delay, at_gain, at_phase)

    def _turns(self, w: Floats, response: Roots) -> tuple[float, float, float]:
        size = np.log(np.abs(response))
        phase, delay, at = math.inf, math.inf, math.nan
        for i in np.flatnonzero(size[:-1] * size[1:] < 0):
            cross = brentq(lambda x: math.log(abs(self._at(x))), w[i], w[i + 1])
            angle = np.angle(self._at(cross))
            # A delay turns clockwise, to -pi; the phase margin is to the nearer side.
            clockwise = float((angle + math.pi) % (2 * math.pi))
            nearest = math.degrees(min(clockwise, 2 * math.pi - clockwise))
            delay = min(delay, clockwise / cross)
            if nearest < phase:
                phase, at = nearest, float(cross)
        return phase, delay, at

    def _grows(self, w: Floats, response: Roots) -> tuple[float, float]:
        gain, at = math.inf, math.nan
        side = response.imag
        for i in np.flatnonzero((side[:-1] * side[1:] < 0) & (response.real[:-1] < 0)):
            cross = brentq(lambda x: self._at(x).imag, w[i], w[i + 1])
            here = abs(self._at(cross))
            if 1e-12 < here < 1 and self._at(cross).real < 0 and 1 / here < gain:
                gain, at = 1 / here, float(cross)
        return gain, at
