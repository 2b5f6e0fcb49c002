"""One CPU and one link that all flows cross: the closed forms of proportional fairness.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section II-B. With the means of the densities,
weighted by alpha, w_a (arithmetic) and w_h (harmonic), C/B says it all:

    C/B <= w_h    CPU-limited         r_s = alpha_s C / (w_s sum of alpha)
    C/B >= w_a    bandwidth-limited   r_s = alpha_s B / sum of alpha
    between       jointly limited     r_s = alpha_s / (w_s theta + pi)

What the flows pay in all is what both resources earn, theta C + pi B = sum of alpha. So the joint
case has one unknown, the share that the CPU earns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from marqueue.theory.allocation.proportional_fairness import Region
from marqueue.theory.allocation.resources import Floats


@dataclass(frozen=True)
class OnePair:
    """Flows by weight alpha and density, cycles/bit; all above 0."""

    weights: Floats
    densities: Floats

    @classmethod
    def of(cls, densities: Sequence[float], weights: Sequence[float] | None = None) -> OnePair:
        """Flows of these densities; by default of equal weights."""
        w = np.array(densities, dtype=float)
        return cls(np.ones_like(w) if weights is None else np.array(weights, dtype=float), w)

    @property
    def arithmetic(self) -> float:
        """w_a, cycles/bit."""
        return float(self.weights @ self.densities / self.weights.sum())

    @property
    def harmonic(self) -> float:
        """w_h, cycles/bit."""
        return float(self.weights.sum() / (self.weights / self.densities).sum())

    def region(self, cpu: float, link: float) -> Region:
        """By what the flows are limited at ``cpu`` cycles/s and ``link`` bits/s."""
        if cpu / link <= self.harmonic:
            return "CPU-limited"
        return "bandwidth-limited" if cpu / link >= self.arithmetic else "jointly limited"

    def proportionally_fair(self, cpu: float, link: float) -> Floats:
        """What each flow gets at the optimum, bits/s."""
        alpha, w = self.weights, self.densities

        def rates(earned: float) -> Floats:
            paid: Floats = w * earned / cpu + (1 - earned) / link
            each: Floats = alpha / alpha.sum() / paid
            return each

        match self.region(cpu, link):
            case "CPU-limited":
                return rates(1.0)
            case "bandwidth-limited":
                return rates(0.0)
            case _:
                # What is earned is all that is paid: where both are used alike, both are full. At
                # 0 the link is full and the CPU overloaded, at 1 the other way round.
                return rates(brentq(lambda e: float((w / cpu - 1 / link) @ rates(e)), 0.0, 1.0))

    def tcp_like(self, cpu: float, link: float) -> Floats:
        """Rates in proportion to alpha, the largest that both capacities allow, bits/s."""
        rates: Floats = self.weights / self.weights.sum() * min(link, cpu / self.arithmetic)
        return rates
