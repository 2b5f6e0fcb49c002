"""MKC without loss: adaptive prices for which X* = gamma C with any number of sources.

The rates of EMKC settle above capacity, X* = C + N alpha / beta, with a permanent loss p* = N alpha
/ (C beta + N alpha). With the price :class:`~marqueue.theory.mkc.price.Virtual` the sum of rates
settles at gamma C while the required virtual capacity V* = gamma C - N alpha / beta is not
negative. Otherwise V = 0, and every source has alpha / beta. The paper leaves this to future work
(5.3).

With equal delays the sum of rates obeys X(n) = (1 - beta) X(n-D) + beta V(n-B) + N alpha, which is
linear, and V(n+1) = V(n) + a (gamma C - X(n-F)). Its modes are the roots of

    (z - 1) (z^D - 1 + beta) + a beta = 0.

One of them reaches the unit circle at :func:`critical_gain`. docs/theory/mkc.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from marqueue.errors import ModelError
from marqueue.theory.mkc.equilibrium import FixedPoint, mkc_fixed_point
from marqueue.theory.mkc.laws import Mkc
from marqueue.theory.mkc.linear import boundary, linearize_adaptive
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss, Virtual

#: Range of gains searched for the exact boundary, as multiples of the condition.
LEAST, MOST = 1e-3, 8.0


def fixed_point(network: Network, law: Mkc, price: Virtual) -> FixedPoint:
    """The stationary rates on one resource."""
    if network.resources > 1:
        raise ModelError(f"capacity: got {network.resources} resources, expected one")
    alpha, beta = law.parameters(network.sources)
    virtual = price.target * network.capacity - (alpha / beta).sum()
    return mkc_fixed_point(network, law, Loss(np.maximum(virtual, 0.0)))


def critical_gain(beta: float, delay: int) -> float:
    """The gain a at which the system with equal delays D becomes unstable, for any N, alpha and
    gamma:

        a = 1 - sin((D-1) t) / sin((D+1) t),    tan((D+1) t) tan(D t) = beta / (2 - beta),

    0 < t < pi / (2 (D+1)). With unequal delays, D the longest of them, any smaller gain is stable
    if beta <= 1. Raises :class:`ModelError` for a beta with which no gain is stable.
    """
    if not 0 < beta < 2:
        raise ModelError(f"beta: got {beta:g}, expected more than 0 and less than 2 (Theorem 4)")
    _check(delay)
    target, pole = beta / (2 - beta), math.pi / (2 * (delay + 1))

    def excess(t: float) -> float:
        # Tangents are written with sines and cosines, which have no pole at the end of the range.
        high, low = (delay + 1) * t, delay * t
        return math.sin(high) * math.sin(low) - target * math.cos(high) * math.cos(low)

    t = float(brentq(excess, 0.0, pole, xtol=1e-16))
    return 1 - math.sin((delay - 1) * t) / math.sin((delay + 1) * t)


def safe_gain(longest: int) -> float:
    """2 sin(pi / (2 (2 D + 1))), D the longest delay. Smaller gains are stable with any beta up to
    1, for any delays, N, alpha and gamma. It is :func:`critical_gain` at beta = 1, its minimum over
    beta <= 1."""
    _check(longest)
    return 2 * math.sin(math.pi / (2 * (2 * longest + 1)))


def _check(delay: int) -> None:
    if delay < 1:
        raise ModelError(f"delay: got {delay}, expected at least 1 step")


def exact_gain(network: Network, law: Mkc, target: float) -> float | None:
    """The gain at which the linearized system becomes unstable; None if it is larger than
    :data:`MOST` times the condition."""
    _, beta = law.parameters(network.sources)
    bound = critical_gain(float(beta.max()), int(network.delay.max()))
    point = fixed_point(network, law, Virtual(network.capacity, bound, target))

    def radius(gain: float) -> float:
        return linearize_adaptive(point, law, Virtual(network.capacity, gain, target)).radius()

    return boundary(radius, LEAST * bound, MOST * bound)


def steady_loss(capacity: float, sources: int, alpha: float, beta: float) -> float:
    """p* of EMKC: the stationary loss ratio."""
    return sources * alpha / (capacity * beta + sources * alpha)


def steady_loss_free(
    capacity: float, sources: int, alpha: float, beta: float, target: float
) -> float:
    """The stationary loss ratio with adaptive prices: 0 while V* >= 0, and beyond that until N
    alpha / beta = C."""
    total = max(target * capacity, sources * alpha / beta)
    return max(0.0, 1 - capacity / total)
