"""MKC without loss: adaptive prices that make X* = gamma C whatever the number of sources.

EMKC settles above capacity, X* = C + N alpha / beta, and loses p* = N alpha / (C beta + N alpha)
for ever. With the price :class:`~marqueue.theory.mkc.price.Virtual` the sum of rates settles at
gamma C, as long as the virtual capacity that this takes, V* = gamma C - N alpha / beta, is not
negative; then V = 0, and every source has alpha / beta. The paper leaves it to future work (5.3).

The sum of rates obeys, with equal delays, X(n) = (1 - beta) X(n-D) + beta V(n-B) + N alpha, which
is linear, and V(n+1) = V(n) + a (gamma C - X(n-F)). So its modes are the roots of

    (z - 1) (z^D - 1 + beta) + a beta = 0.

docs/theory/mkc.md derives from that the condition of :func:`largest_gain`.
"""

from __future__ import annotations

import math

import numpy as np

from marqueue.errors import ModelError
from marqueue.theory.mkc.fixed import FixedPoint, of_mkc
from marqueue.theory.mkc.laws import Mkc
from marqueue.theory.mkc.linear import boundary, of_virtual
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss, Virtual

#: Gains between which the exact boundary is looked for, as multiples of the condition.
LEAST, MOST = 1e-3, 8.0


def fixed_point(network: Network, law: Mkc, price: Virtual) -> FixedPoint:
    """The stationary rates on one resource."""
    if network.resources > 1:
        raise ModelError(f"capacity: got {network.resources} resources, expected one")
    alpha, beta = law.parameters(network.sources)
    virtual = price.target * network.capacity - (alpha / beta).sum()
    return of_mkc(network, law, Loss(np.maximum(virtual, 0.0)))


def largest_gain(beta: float, longest: int) -> float:
    """The gain a below which the system is stable, whatever N, alpha and gamma are:

        2 sin(pi / (2 (2 D / beta + 1)))                    0 < beta <= 1, D the longest delay
        2 sin(pi / (2 (2 D + 1))) (2 - beta) / beta         1 < beta < 2, all delays D

    Sufficient; also necessary where beta = 1 and all delays are equal. It supposes V* >= 0.
    """
    if not 0 < beta < 2:
        raise ModelError(f"beta: got {beta:g}, expected more than 0 and less than 2 (Theorem 4)")
    if longest < 1:
        raise ModelError(f"delay: got {longest}, expected at least 1 step")
    if beta <= 1:
        return 2 * math.sin(math.pi / (2 * (2 * longest / beta + 1)))
    return 2 * math.sin(math.pi / (2 * (2 * longest + 1))) * (2 - beta) / beta


def exact_gain(network: Network, law: Mkc, target: float) -> float | None:
    """The gain at which the linearised system ceases to be stable; None if that is beyond
    :data:`MOST` times the condition."""
    _, beta = law.parameters(network.sources)
    bound = largest_gain(float(beta.max()), int(network.delay.max()))
    point = fixed_point(network, law, Virtual(network.capacity, bound, target))

    def radius(gain: float) -> float:
        return of_virtual(point, law, Virtual(network.capacity, gain, target)).radius()

    return boundary(radius, LEAST * bound, MOST * bound)


def steady_loss(capacity: float, sources: int, alpha: float, beta: float) -> float:
    """p* of EMKC: the share of packets that is lost for ever."""
    return sources * alpha / (capacity * beta + sources * alpha)


def steady_loss_free(
    capacity: float, sources: int, alpha: float, beta: float, target: float
) -> float:
    """The same with adaptive prices: none while V* >= 0, and a while on, until N alpha / beta =
    C."""
    total = max(target * capacity, sources * alpha / beta)
    return max(0.0, 1 - capacity / total)
