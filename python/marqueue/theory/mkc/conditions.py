"""Conditions for stability, each beside what is exact.

A condition of a paper is a number that must stay below a bound. The exact answer comes from the
companion matrix of the delayed system, linearised at the same fixed point; where a gain can be
scaled, the scale at which the system ceases to be stable says how careful a condition is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from marqueue.theory.mkc import lossfree
from marqueue.theory.mkc.anydelay import Verdict, judge
from marqueue.theory.mkc.fixed import FixedPoint, of_kelly, of_mkc
from marqueue.theory.mkc.laws import Kelly, Mkc
from marqueue.theory.mkc.linear import MARGIN, Delayed, boundary
from marqueue.theory.mkc.linear import of_kelly as kelly_at
from marqueue.theory.mkc.linear import of_mkc as mkc_at
from marqueue.theory.mkc.linear import of_virtual as virtual_at
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Loss, Static, Virtual

#: The largest companion matrix whose spectral radius is sought, and whose boundary is: one takes
#: seconds, the other about 70 times that.
LARGEST, LARGEST_SCALED = 20_000, 400
#: The most pairs of sources on one resource, likewise.
PAIRS = 1_000_000
#: Scales between which the exact boundary is looked for, as multiples of what a condition allows.
RANGE = 0.02, 6.0


@dataclass(frozen=True)
class Condition:
    """What a theorem demands: ``low < values < high``, one value a source or one a resource."""

    name: str
    source: str
    """Where it comes from."""
    values: Floats
    low: float
    high: Floats
    """Like ``values``."""
    kind: str
    """Whether it is necessary, sufficient or both, and of what."""

    @property
    def holds(self) -> bool:
        """For all."""
        return bool(np.all((self.values > self.low) & (self.values < self.high)))

    @property
    def share(self) -> float:
        """The largest value as a share of its bound."""
        return float((self.values / self.high).max())


@dataclass(frozen=True)
class Report:
    """What is known of the stability of a system at its fixed point."""

    point: FixedPoint
    conditions: tuple[Condition, ...]
    radius: float | None
    """The spectral radius with the delays as they are: exact. None if it cannot be told."""
    gain: str
    """The gain that may be scaled."""
    scale: float | None
    """By how much all gains may be multiplied before the system is unstable: exact. None if it was
    not looked for, or is not within :data:`RANGE` of what the first condition allows."""
    allowed: float
    """By how much the first condition allows to multiply them."""
    any_delay: Verdict | None = None
    """What Theorem 1 says of the Jacobian."""
    unknown: str = ""
    """Why there is no spectral radius."""

    @property
    def stable(self) -> bool | None:
        """Exactly; None if it cannot be told, as on the boundary."""
        if self.radius is None or abs(self.radius - 1) <= MARGIN:
            return None
        return self.radius < 1

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.radius is None:
            return f"not computed: {self.unknown}"
        return {True: "stable", False: "unstable", None: "on the boundary"}[self.stable]


def kelly_loads(point: FixedPoint, law: Kelly, price: Static) -> Floats:
    """The left side of (3) and (4), ``(N,)``: kappa_i sum over the route of (p + p' X) at x*."""
    network = point.network
    kappa, _ = law.parameters(network.sources)
    arrivals = point.arrivals
    loads: Floats = kappa * (network.usage.T @ (point.prices + price.slope(arrivals) * arrivals))
    return loads


def condition_3(point: FixedPoint, law: Kelly, price: Static) -> Condition:
    """Johari and Tan's, each source with its own delay in place of the one that all have."""
    delay = point.network.delay
    high = 2 * np.sin(np.pi / (2 * (2 * delay - 1)))
    alike = bool(np.all(delay == delay[0]))
    kind = "sufficient with equal delays" if alike else "conjectured sufficient"
    if alike and len(delay) == 1 and point.network.resources == 1:
        kind = "necessary and sufficient"
    return Condition("(3)", "Johari and Tan 2001", kelly_loads(point, law, price), 0.0, high, kind)


def condition_4(point: FixedPoint, law: Kelly, price: Static) -> Condition:
    """Vinnicombe's for the system in continuous time. It is stricter than (3) at every delay."""
    return Condition(
        "(4)",
        "Vinnicombe 2000",
        kelly_loads(point, law, price),
        0.0,
        np.pi / (2 * point.network.delay),
        "sufficient in continuous time",
    )


def theorem_3(point: FixedPoint, law: Mkc, price: Static) -> tuple[Condition, Condition]:
    """(31) and (32), at each bottleneck of MKC: beta p* and beta (p* + p' times what its own sources
    bring). Sources that other resources hold back pass through, but do not react: on any routes the
    Jacobian is triangular in blocks, one a bottleneck, in the order of prices, which are distinct."""
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
    kind, two = "necessary and sufficient, under any delays", np.full(len(used), 2.0)
    return (
        Condition("(31)", "Theorem 3, Corollary 2", np.array(shrinks), 0.0, two, kind),
        Condition("(32)", "Theorem 3, Corollary 2", np.array(settles), 0.0, two, kind),
    )


def _largest_eigenvalue(diagonal: Floats, b: Floats) -> float:
    """Of diag(d) + b 1^T, b > 0: the largest root of sum b / (lambda - d) = 1. With one gain for all
    sources it is d + sum b, as in (32)."""
    low = float(diagonal.max())
    high = low + float(b.sum())
    if diagonal.min() == low:
        return high
    first = low + float(b[diagonal == low].sum())  # at which the sum is at least 1
    return float(brentq(lambda root: (b / (root - diagonal)).sum() - 1, first, high, xtol=1e-14))


def theorem_4(network: Network, law: Mkc) -> Condition:
    """EMKC is stable under any delays iff 0 < beta < 2."""
    _, beta = law.parameters(network.sources)
    kind = "necessary and sufficient, under any delays"
    return Condition("beta", "Theorem 4", beta, 0.0, np.full(len(beta), 2.0), kind)


def report_kelly(network: Network, law: Kelly, price: Static) -> Report:
    """Classic Kelly control: (3) and (4), and the exact boundary for kappa."""
    point = of_kelly(network, law, price)
    conditions = condition_3(point, law, price), condition_4(point, law, price)
    allowed = 1 / conditions[0].share

    def system(scale: float) -> Delayed:
        return kelly_at(point, law, price, scale)

    return _report(point, conditions, "kappa", allowed, system)


def report_mkc(network: Network, law: Mkc, price: Static) -> Report:
    """MKC: Theorem 3, for EMKC Theorem 4, Theorem 1, and the exact boundary for beta."""
    point = of_mkc(network, law, price)
    conditions = theorem_3(point, law, price)
    if isinstance(price, Loss):
        conditions = (theorem_4(network, law), *conditions)

    def system(scale: float) -> Delayed:
        scaled = Mkc(law.alpha, np.asarray(law.beta) * scale)
        return mkc_at(of_mkc(network, scaled, price), scaled, price)

    unknown = _tie(point)
    return _report(point, conditions, "beta", 1 / conditions[0].share, system, unknown)


def report_lossfree(network: Network, law: Mkc, price: Virtual) -> Report:
    """MKC with adaptive prices on one resource: our condition, and the exact boundary for the gain."""
    point = lossfree.fixed_point(network, law, price)
    _, beta = law.parameters(network.sources)
    bound = lossfree.largest_gain(float(beta.max()), int(network.delay.max()))
    condition = Condition(
        "gain",
        "derived here",
        np.array([price.gain]),
        0.0,
        np.array([bound]),
        "sufficient" if beta.max() <= 1 else "sufficient with equal delays",
    )
    unknown = ""
    if point.prices[0] >= 1:
        unknown = "N alpha / beta is more than gamma C: the virtual capacity stays at 0"

    def system(scale: float) -> Delayed:
        return virtual_at(point, law, Virtual(price.capacity, price.gain * scale, price.target))

    return _report(point, (condition,), "gain", bound / price.gain, system, unknown)


def _report(
    point: FixedPoint,
    conditions: tuple[Condition, ...],
    gain: str,
    allowed: float,
    system: Callable[[float], Delayed],
    unknown: str = "",
) -> Report:
    network = point.network
    size = network.sources * int(network.delay.max())
    pairs = int((np.bincount(network.resource) ** 2).max())
    if not unknown and (size > LARGEST or pairs > PAIRS):
        unknown = f"{network.sources} sources with delays of up to {network.delay.max()} are too many"
    if unknown:
        return Report(point, conditions, None, gain, None, allowed, None, unknown)
    radius = system(1.0).radius()
    scale = None
    if size <= LARGEST_SCALED:
        scale = boundary(lambda s: system(s).radius(), RANGE[0] * allowed, RANGE[1] * allowed)
    without_delays = sum(system(1.0).lags.values())
    return Report(point, conditions, radius, gain, scale, allowed, judge(without_delays.toarray()))


def _tie(point: FixedPoint) -> str:
    """Names a source that hears the highest price from two resources: there the maximum has no
    derivative."""
    network = point.network
    assert point.bottleneck is not None, "the fixed point of MKC has bottlenecks"
    highest = point.prices[point.bottleneck]
    heard = point.prices[network.resource]
    near = heard >= highest[network.source] * (1 - 1e-9)
    near &= network.resource != point.bottleneck[network.source]
    if not near.any():
        return ""
    return f"source {network.source[np.argmax(near)]} hears the same price from two resources"
