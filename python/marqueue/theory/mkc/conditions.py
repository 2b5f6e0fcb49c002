"""Theoretical conditions for the stability of a fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from marqueue.theory.mkc.equilibrium import FixedPoint
from marqueue.theory.mkc.laws import Kelly, Mkc
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Static

#: Kind of Theorems 3 and 4: they cover all delays, so some unequal delays allow slightly more.
UNDER_ALL = "exact over all delays"


@dataclass(frozen=True)
class Condition:
    """The condition of a theorem: ``low < values < high``, one value per source or per resource."""

    name: str
    source: str
    """Source of the condition."""
    values: Floats
    low: float
    high: Floats
    """Like ``values``."""
    kind: str
    """Whether it is necessary, sufficient or both, and for which systems."""

    @property
    def holds(self) -> bool:
        """For all."""
        return bool(np.all((self.values > self.low) & (self.values < self.high)))

    @property
    def share(self) -> float:
        """The largest value as a share of its bound."""
        return float((self.values / self.high).max())


def kelly_loads(point: FixedPoint, law: Kelly, price: Static) -> Floats:
    """The left side of (3) and (4), ``(N,)``: kappa_i sum over the route of (p + p' X) at x*."""
    network = point.network
    kappa, _ = law.parameters(network.sources)
    arrivals = point.arrivals
    loads: Floats = kappa * (network.usage.T @ (point.prices + price.slope(arrivals) * arrivals))
    return loads


def condition_3(point: FixedPoint, law: Kelly, price: Static) -> Condition:
    """The condition of Johari and Tan, each source with its own delay instead of a common one."""
    delay = point.network.delay
    high = 2 * np.sin(np.pi / (2 * (2 * delay - 1)))
    alike = bool(np.all(delay == delay[0]))
    kind = "sufficient with equal delays" if alike else "conjectured sufficient"
    if alike and len(delay) == 1 and point.network.resources == 1:
        kind = "necessary and sufficient"
    return Condition("(3)", "Johari and Tan 2001", kelly_loads(point, law, price), 0.0, high, kind)


def condition_4(point: FixedPoint, law: Kelly, price: Static) -> Condition:
    """Vinnicombe's condition for the system in continuous time: stricter than (3) at every
    delay."""
    return Condition(
        "(4)",
        "Vinnicombe 2000",
        kelly_loads(point, law, price),
        0.0,
        np.pi / (2 * point.network.delay),
        "sufficient in continuous time",
    )


def theorem_3(point: FixedPoint, law: Mkc, price: Static) -> tuple[Condition, Condition]:
    """(31) and (32) at each bottleneck of MKC: beta p*, and beta (p* + p' times the rate of its own
    sources). Sources that are limited elsewhere pass through but do not react. On any routes the
    Jacobian is block triangular, one block for each bottleneck, in the order of prices, which are
    distinct."""
    assert point.bottleneck is not None, "the fixed point of MKC has bottlenecks"
    _, beta = law.parameters(point.network.sources)
    used = np.unique(point.bottleneck)
    slope = price.slope(point.arrivals)
    shrinks, settles = [], []
    for j in used:
        own = point.bottleneck == j
        each = beta[own] * point.prices[j]
        shrinks.append(float(each.max()))
        settles.append(_largest_eigenvalue(each, slope[j] * beta[own] * point.rates[own]))
    two = np.full(len(used), 2.0)
    return (
        Condition("(31)", "Theorem 3, Corollary 2", np.array(shrinks), 0.0, two, UNDER_ALL),
        Condition("(32)", "Theorem 3, Corollary 2", np.array(settles), 0.0, two, UNDER_ALL),
    )


def _largest_eigenvalue(diagonal: Floats, b: Floats) -> float:
    """The largest eigenvalue of diag(d) + b 1^T, b > 0: the largest root of sum b / (lambda - d) =
    1. If all sources have the same gain it is d + sum b, as in (32)."""
    low = float(diagonal.max())
    high = low + float(b.sum())
    if diagonal.min() == low:
        return high
    first = low + float(b[diagonal == low].sum())  # where the sum is at least 1
    return float(brentq(lambda root: (b / (root - diagonal)).sum() - 1, first, high, xtol=1e-14))


def theorem_4(network: Network, law: Mkc) -> Condition:
    """EMKC is stable for any delays if and only if 0 < beta < 2."""
    _, beta = law.parameters(network.sources)
    return Condition("beta", "Theorem 4", beta, 0.0, np.full(len(beta), 2.0), UNDER_ALL)
