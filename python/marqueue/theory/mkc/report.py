"""A report on the stability of a system: conditions of theorems next to exact results.

A condition bounds a number. The exact result is the spectral radius of the delayed system,
linearized at its fixed point. The factor by which gains may be multiplied until the radius reaches
1 shows how conservative a condition is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from marqueue.errors import ModelError
from marqueue.theory.mkc import linear, lossfree
from marqueue.theory.mkc.conditions import Condition, condition_3, condition_4, theorem_3, theorem_4
from marqueue.theory.mkc.delay_independent_stability import Verdict, judge
from marqueue.theory.mkc.equilibrium import FixedPoint, kelly_fixed_point, mkc_fixed_point
from marqueue.theory.mkc.laws import Kelly, Law, Mkc
from marqueue.theory.mkc.linear import MARGIN, DelaySystem, boundary
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss, Power, Price, Static, Virtual

#: Largest companion matrix for which the spectral radius is computed, and for which the boundary
#: is; the first takes seconds, the second about a hundred times as long.
LARGEST, LARGEST_SCALED = 1_500, 250
#: Range of scales searched for the exact boundary, as multiples of what a condition allows.
RANGE = 0.02, 20.0
#: Largest number of doublings or halvings in search of the scale that conditions allow.
DOUBLINGS = 60


@dataclass(frozen=True)
class Report:
    """Stability of a system at its fixed point."""

    point: FixedPoint
    conditions: tuple[Condition, ...]
    radius: float | None
    """Exact spectral radius with the given delays; None if it was not computed."""
    gain: str
    """Name of the gain that is scaled."""
    scale: float | None
    """Exact factor by which all gains may be multiplied before the system is unstable. None if it
    was not computed, or is not within :data:`RANGE` of ``allowed``."""
    allowed: float
    """Factor by which the conditions allow to multiply all gains; for Kelly control, condition
    (3)."""
    any_delay: tuple[tuple[int, Verdict], ...] = ()
    """Result of Theorem 1 for the sources of each bottleneck, with its index. MKC only: Kelly
    control uses x(n-1), and adaptive prices use V without delay, which the theorem does not
    cover."""
    unknown: str = ""
    """Reason why there is no spectral radius."""

    @property
    def stable(self) -> bool | None:
        """The exact result; None if unknown, as on the boundary."""
        if self.radius is None or abs(self.radius - 1) <= MARGIN:
            return None
        return self.radius < 1

    @property
    def verdict(self) -> str:
        """The result in one or two words."""
        if self.radius is None:
            return f"not computed: {self.unknown}"
        return {True: "stable", False: "unstable", None: "on the boundary"}[self.stable]


def report(network: Network, law: Law, price: Price) -> Report:
    """The report on a system. Raises :class:`ModelError` for AIMD and Scalable TCP, which never
    settle, and for Kelly control with adaptive prices."""
    match law, price:
        case Kelly(), Loss() | Power():
            return report_kelly(network, law, price)
        case Mkc(), Loss() | Power():
            return report_mkc(network, law, price)
        case Mkc(), Virtual():
            return report_lossfree(network, law, price)
    raise ModelError(
        f"law: got {law.name} with the price {type(price).__name__}, expected mkc, or kelly with a "
        "price that does not adapt"
    )


def report_kelly(network: Network, law: Kelly, price: Static) -> Report:
    """Classic Kelly control: conditions (3) and (4), and the exact boundary of kappa."""
    point = kelly_fixed_point(network, law, price)
    conditions = condition_3(point, law, price), condition_4(point, law, price)
    allowed = 1 / conditions[0].share

    def system(scale: float) -> DelaySystem:
        return linear.linearize_kelly(point, law, price, scale)

    return _report(point, conditions, "kappa", allowed, system)


def report_mkc(network: Network, law: Mkc, price: Static) -> Report:
    """MKC: Theorem 3, for EMKC also Theorem 4, Theorem 1, and the exact boundary of beta."""
    if isinstance(price, Loss):
        law.warn(network.sources)
    point = mkc_fixed_point(network, law, price)
    conditions: tuple[Condition, ...] = theorem_3(point, law, price)
    if isinstance(price, Loss):
        conditions = (theorem_4(network, law), *conditions)

    def system(scale: float) -> DelaySystem:
        scaled = Mkc(law.alpha, np.asarray(law.beta) * scale)
        return linear.linearize_mkc(mkc_fixed_point(network, scaled, price), scaled, price)

    def excess(scale: float) -> float:
        scaled = Mkc(law.alpha, np.asarray(law.beta) * scale)
        held = theorem_3(mkc_fixed_point(network, scaled, price), scaled, price)
        return max(each.share for each in held) - 1

    report = _report(point, conditions, "beta", _root(excess), system, _tie(point))
    return report if report.radius is None else replace(report, any_delay=_blocks(point, system(1)))


def _blocks(point: FixedPoint, system: DelaySystem) -> tuple[tuple[int, Verdict], ...]:
    """Theorem 1 for each bottleneck. A source depends only on sources that receive the same or a
    higher price, so the Jacobian is block triangular."""
    assert point.bottleneck is not None, "the fixed point of MKC has bottlenecks"
    whole = system.undelayed()
    verdicts = []
    for j in np.unique(point.bottleneck):
        own = np.flatnonzero(point.bottleneck == j)
        verdicts.append((int(j), judge(whole[np.ix_(own, own)])))
    return tuple(verdicts)


def _root(excess: Callable[[float], float]) -> float:
    """The positive root of an increasing function."""
    low = high = 1.0
    for _ in range(DOUBLINGS):
        if excess(high) >= 0:
            break
        high *= 2
    for _ in range(DOUBLINGS):
        if excess(low) < 0:
            break
        low /= 2
    return float(brentq(excess, low, high, xtol=1e-12))


def report_lossfree(network: Network, law: Mkc, price: Virtual) -> Report:
    """MKC with adaptive prices on one resource: the condition derived here, and the exact boundary
    of the gain."""
    point = lossfree.fixed_point(network, law, price)
    _, beta = law.parameters(network.sources)
    gain, longest = np.array([price.gain]), int(network.delay.max())
    alike = bool(np.all(network.delay == longest))
    bound = lossfree.critical_gain(float(beta.max()), longest)
    kind = "sufficient" if beta.max() <= 1 else "no proof"
    conditions = (
        Condition(
            "gain at D", "derived here", gain, 0.0, np.array([bound]), "exact" if alike else kind
        ),
        Condition(
            "gain at any beta <= 1",
            "derived here",
            gain,
            0.0,
            np.array([lossfree.safe_gain(longest)]),
            kind,
        ),
    )
    unknown = ""
    if point.prices[0] >= 1:
        unknown = "N alpha / beta is more than gamma C: the virtual capacity stays at 0"

    def system(scale: float) -> DelaySystem:
        return linear.linearize_adaptive(
            point, law, Virtual(price.capacity, price.gain * scale, price.target)
        )

    return _report(point, conditions, "gain", bound / price.gain, system, unknown)


def _report(
    point: FixedPoint,
    conditions: tuple[Condition, ...],
    gain: str,
    allowed: float,
    system: Callable[[float], DelaySystem],
    unknown: str = "",
) -> Report:
    network = point.network
    size = network.sources * int(network.delay.max())
    if not unknown and size > LARGEST:
        unknown = (
            f"{network.sources} sources with delays of up to {network.delay.max()} are too many"
        )
    if unknown:
        return Report(point, conditions, None, gain, None, allowed, unknown=unknown)
    radius = system(1.0).radius()
    scale = None
    if size <= LARGEST_SCALED:
        scale = boundary(lambda s: system(s).radius(), RANGE[0] * allowed, RANGE[1] * allowed)
    return Report(point, conditions, radius, gain, scale, allowed)


def _tie(point: FixedPoint) -> str:
    """Names a source that receives the highest price from two resources: there the maximum is not
    differentiable."""
    network = point.network
    assert point.bottleneck is not None, "the fixed point of MKC has bottlenecks"
    highest = point.prices[point.bottleneck]
    obeyed = point.prices[network.resource]
    near = obeyed >= highest[network.source] * (1 - 1e-9)
    near &= network.resource != point.bottleneck[network.source]
    if not near.any():
        return ""
    return f"source {network.source[np.argmax(near)]} has the same price at two resources"
