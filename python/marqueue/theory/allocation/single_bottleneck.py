"""One CPU and one link that all flows cross: closed forms of proportional fairness.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section II-B. Let w_a and w_h be the arithmetic and
harmonic means of the densities, weighted by alpha. The region follows from C/B:

    C/B <= w_h    CPU-limited         r_s = alpha_s C / (w_s sum of alpha)
    C/B >= w_a    bandwidth-limited   r_s = alpha_s B / sum of alpha
    between       jointly limited     r_s = alpha_s / (w_s theta + pi)

The total payment of the flows is the earnings of both resources, theta C + pi B = sum of alpha. The
jointly limited case therefore has one unknown, the share that the CPU earns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from marqueue.theory.allocation.proportional_fairness import Region
from marqueue.theory.allocation.resources import Floats


@dataclass(frozen=True)
class SingleBottleneck:
    """Flows by weight alpha and density, cycles/bit; all above 0."""

    weights: Floats
    densities: Floats

    @classmethod
    def of(
        cls, densities: Sequence[float], weights: Sequence[float] | None = None
    ) -> SingleBottleneck:
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
        """The region for ``cpu`` cycles/s and ``link`` bits/s."""
        if cpu / link <= self.harmonic:
            return "CPU-limited"
        return "bandwidth-limited" if cpu / link >= self.arithmetic else "jointly limited"

    def proportionally_fair(self, cpu: float, link: float) -> Floats:
        """Proportionally fair rates, bits/s."""
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
                # Both resources are full where their utilizations are equal. At 0 the link is full
                # and the CPU overloaded; at 1 it is the other way round.
                return rates(brentq(lambda e: float((w / cpu - 1 / link) @ rates(e)), 0.0, 1.0))

    def tcp_like(self, cpu: float, link: float) -> Floats:
        """The largest feasible rates in proportion to alpha, bits/s."""
        rates: Floats = self.weights / self.weights.sum() * min(link, cpu / self.arithmetic)
        return rates
