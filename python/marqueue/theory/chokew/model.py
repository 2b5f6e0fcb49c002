"""The model of CHOKeW: the share of a link that each flow gets under matched drops.

Wen, Fang and Sun, "Differentiated Bandwidth Allocation with TCP Protection in Core Routers", IEEE
TPDS 20(1), 2009, section 3. Symbols are the paper's:

    r   matching probability: a flow's share of the queue               (3)
    p   drawing factor, p0 / w                                           (1)
    eta entry probability, (1 - r)^p                                     (5)
    q   dropping probability, 2 - 2 eta                                  (7)
    mu  rate at which packets enter the queue, lambda eta                (16c)

and r = mu / sum of all mu (16a), lambda' = lambda (1 - q) (16d). A packet that enters the queue
stays for D = L / sum of all mu (15), whether it is dropped there or not. TCP sends lambda = sqrt(3
/ (2 q)) / T (footnote 8; one acknowledgement per packet), where T is its round-trip time without
queueing plus D. This law has no timeouts, which prevail for large q. If a smallest timeout is
given, lambda is that of Padhye, Firoiu, Towsley and Kurose, IEEE/ACM ToN 8(2), 2000, equation (30),
which includes timeouts.

The paper does not say how to choose p0 and L. Here L is given, and p0 is the value at which the
flows just fill the link: CHOKeW raises p0 while the queue is above L+ and lowers it below L-.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from marqueue.errors import ModelError

Floats = npt.NDArray[np.float64]

#: Relative accuracy of the solution.
TOLERANCE = 1e-10
#: Newton steps at most (four or five are needed), and the last one for a share of the queue.
NEWTON_STEPS, NEWTON_TOLERANCE = 60, 1e-12
#: Logarithms of the least share of the queue that is tried, and of the least and the largest rate
#: at which packets enter the queue, 1/s; it is the least if all flows are starved.
LEAST_LOG_SHARE = -80.0
LOG_RATES = math.log(1e-9), math.log(1e15)
#: Largest p0 tried; beyond it every flow that can be starved is.
LARGEST_P0 = 1e7


def entry_probability(r: float, p: float) -> float:
    """eta (4): the probability that an arriving packet of a flow with share ``r`` of the queue
    enters it, if it is compared with floor(``p``) packets, and with one more with probability ``p``
    - floor(``p``)."""
    m = math.floor(p)
    return (1 - r) ** m * (1 - (p - m) * r)


def starvation_bound(r: float) -> float:
    """The drawing factor at and above which a flow with share ``r`` of the queue is starved (9): -1
    / log2(1 - ``r``)."""
    if not 0 < r < 1:
        raise ModelError(f"r: got {r:g}, expected a share of the queue between 0 and 1")
    return -1 / math.log2(1 - r)


def starvation_share(p: float) -> float:
    """The share of the queue at which a flow with drawing factor ``p`` is starved (9)."""
    return 1 - 2 ** (-1 / p) if p > 0 else 1.0


def waiting_time(queue: float, entering: float) -> float:
    """D (15): the time a packet spends, s, in a queue of ``queue`` packets that ``entering``
    packets per second enter. This is Little's law of the leaky buffer: packets dropped from the
    queue count."""
    return queue / entering


@dataclass(frozen=True)
class Flows:
    """Identical flows of the model."""

    name: str
    kind: Literal["tcp", "cbr"]
    count: int
    weight: float
    rtt: float = 0.0
    """TCP: round-trip time without queueing, s."""
    rate: float = 0.0
    """Constant-rate flows: rate of each, packets/s."""
    rto: float = 0.0
    """TCP: smallest retransmission timeout, s; 0 leaves timeouts out of the model."""
    lost_at_once: float = 1.0
    """TCP: packets lost for each reduction of the window. 2 if the two packets of a matched drop,
    which are usually of one window, count as one loss."""


@dataclass(frozen=True)
class Share:
    """The solution for one of these flows."""

    flows: Flows
    drawing_factor: float
    """p."""
    matching_probability: float
    """r."""
    dropping_probability: float
    """q."""
    sent: float
    """lambda, packets/s."""
    delivered: float
    """lambda', packets/s."""
    starvation_bound: float
    """The drawing factor that would starve it at this share of the queue (9)."""

    @property
    def starved(self) -> bool:
        """Whether none of its packets get through."""
        return self.delivered == 0.0


@dataclass(frozen=True)
class Equilibrium:
    """The fixed point of (16a) to (16d) at which the link is full."""

    p0: float
    """Basic drawing factor."""
    queue: float
    """L, packets: as given, or less if the link is not full."""
    waiting_time: float
    """D, s."""
    shares: tuple[Share, ...]
    """One for each entry of flows, in the given order."""

    def share(self, name: str) -> Share:
        """The share of the flows of this name."""
        return next(share for share in self.shares if share.flows.name == name)


def equilibrium(flows: Sequence[Flows], capacity: float, queue: float) -> Equilibrium:
    """The fixed point for flows on a link of ``capacity`` packets/s with a queue of ``queue``
    packets.

    Raises :class:`ModelError` if the assumptions of the model do not hold: invalid flows or
    weights, or a link that is not congested.
    """
    _check(flows, capacity, queue)
    constant = sum(f.count * f.rate for f in flows if f.kind == "cbr")
    if not any(f.kind == "tcp" for f in flows) and constant <= capacity:
        raise ModelError(
            f"rate: the flows send {constant:g} packets/s in all, expected more than the link's "
            f"{capacity:g}: the model needs congestion"
        )

    mix = _Mix(flows, queue)

    def excess(log_p0: float) -> float:
        return mix.solve(math.exp(log_p0)).delivered - capacity

    if excess(math.log(LARGEST_P0)) > 0:
        raise ModelError(f"flows: they exceed the link at any p0 up to {LARGEST_P0:g}")
    p0 = math.exp(_falling_root(excess, 0.0, math.log(1e-9), math.log(LARGEST_P0)))
    mix.solve(p0)
    return Equilibrium(p0, queue, waiting_time(queue, mix.entering), tuple(mix.shares()))


def _falling_root(f: Callable[[float], float], near: float, lowest: float, highest: float) -> float:
    """The root of a function that falls and is below zero at ``highest``, searched from ``near`` in
    growing steps; ``lowest`` if it is below zero there too."""
    step = 0.125
    if f(near) > 0:
        low = high = near
        while f(high) > 0:
            low, high, step = high, min(high + step, highest), 4 * step
    else:
        low = high = near
        while f(low) < 0:
            if low == lowest:
                return lowest
            low, high, step = max(low - step, lowest), low, 4 * step
    return float(brentq(f, low, high, xtol=TOLERANCE)) if low < high else near


def _check(flows: Sequence[Flows], capacity: float, queue: float) -> None:
    for value, what in ((capacity, "capacity"), (queue, "queue")):
        if not (math.isfinite(value) and value > 0):
            raise ModelError(f"{what}: got {value:g}, expected a finite number above 0")
    if not flows:
        raise ModelError("flows: got none, expected at least one kind")
    for f in flows:
        rules = (
            (f.count >= 1, "count", f.count, "at least 1"),
            (f.weight >= 1, "weight", f.weight, "at least 1 (w >= 1, section 2.1)"),
            (f.kind == "cbr" or f.rtt > 0, "rtt", f.rtt, "more than 0 s"),
            (f.lost_at_once >= 1, "lost_at_once", f.lost_at_once, "at least 1 packet"),
            (f.kind == "tcp" or f.rate > 0, "rate", f.rate, "more than 0 packets/s"),
        )
        for holds, key, value, expected in rules:
            if not holds:
                raise ModelError(f"{f.name}.{key}: got {value:g}, expected {expected}")


class _Mix:
    """The flows at a given p0: solves for the total rate at which packets enter the queue."""

    def __init__(self, flows: Sequence[Flows], queue: float) -> None:
        self.flows = flows
        self.queue = queue
        self.count = np.array([f.count for f in flows], dtype=float)
        self.weight = np.array([f.weight for f in flows])
        self.tcp = np.array([f.kind == "tcp" for f in flows])
        self.rtt = np.array([f.rtt for f in flows])
        self.rate = np.array([f.rate for f in flows])
        self.rto = np.array([f.rto for f in flows])
        self.lost_at_once = np.array([f.lost_at_once for f in flows])
        #: The last solution, near which the next one is.
        self.log_entering = math.log(queue)
        self.log_r = np.zeros(len(flows))

    def solve(self, p0: float) -> _Mix:
        """Finds the entering rate at which the shares of the queue sum to one, by Newton's method
        in logarithms."""
        self.p = p0 / self.weight
        #: r at which q = 1 (9): no flow can hold a larger share of the queue.
        self.bound = np.minimum(-np.expm1(-math.log(2) / self.p), 1 - 1e-15)
        low, high = LOG_RATES
        near = self.log_r
        self.entering = math.exp(low)
        self.r, _ = self._shares(self.entering)
        if self.count @ self.r > 1:
            self.log_r = near
            self._fill(low, high)
        # Otherwise the largest shares do not fill the queue: all flows are starved.
        self.q = np.minimum(self._dropping(self.r), 1.0)
        self.sent = self._sent(self.q, self.entering)[0]
        self.delivered = float(self.count @ (self.sent * (1 - self.q)))
        return self

    def _fill(self, low: float, high: float) -> None:
        """Newton's method between these logarithms of the rate, from that of the last solution."""
        x = self.log_entering
        for _ in range(NEWTON_STEPS):
            self.log_entering, self.entering = x, math.exp(x)
            self.r, slope = self._shares(self.entering)
            total = float(self.count @ self.r)
            low, high = (x, high) if total > 1 else (low, x)
            step = -math.log(total) * total / float(self.count @ (self.r * slope) or -1e-300)
            if abs(step) <= TOLERANCE:
                return
            x = x + step if low <= x + step <= high else (low + high) / 2

    def _dropping(self, r: Floats) -> Floats:
        """q (7), without cancellation for small r."""
        q: Floats = -2 * np.expm1(self.p * np.log1p(-r))
        return q

    def _sent(self, q: Floats, entering: float) -> tuple[Floats, Floats, Floats]:
        """lambda, packets/s, of TCP by footnote 8 or with timeouts; and the derivatives of its
        logarithm by those of q and of the entering rate."""
        q = q / self.lost_at_once
        wait = self.queue / entering
        rtt = self.rtt + wait
        timeout = np.where(self.rto > 0, np.maximum(self.rto, rtt), 0.0)
        root = np.sqrt(q / 1.5)
        often = 3 * np.sqrt(3 * q / 8)
        share = np.minimum(1, often) * q * (1 + 32 * q**2)
        whole = rtt * root + timeout * share
        power = np.where(often < 1, 0.5, 0.0) + (1 + 96 * q**2) / (1 + 32 * q**2)
        waiting = np.where((self.rto > 0) & (rtt > self.rto), share, 0.0)
        with np.errstate(divide="ignore"):
            sent = np.where(self.tcp, 1 / whole, self.rate)
        by_q = self.tcp * -(0.5 * rtt * root + power * timeout * share) / whole
        return sent, by_q, self.tcp * wait * (root + waiting) / whole

    def _shares(self, entering: float) -> tuple[Floats, Floats]:
        """r of each entry, and the derivative of its logarithm by that of the entering rate.

        r is the root of r * entering = lambda eta, whose right side falls with r, or the bound if
        that is larger still there. Newton's method in logarithms, in which both sides are nearly
        straight lines, within an interval that it makes smaller.
        """
        low, high = np.full_like(self.bound, LEAST_LOG_SHARE), np.log(self.bound)
        blocked = self._sent(np.ones_like(self.bound), entering)[0] / 2 >= self.bound * entering
        x = np.where(blocked, high, np.minimum(self.log_r, high - math.log(2)))
        for _ in range(NEWTON_STEPS):
            r = np.exp(x)
            q = self._dropping(r)
            sent, by_q, by_entering = self._sent(q, entering)
            excess = np.log(sent * (1 - q / 2) / (r * entering))
            entered = self.p * r / (1 - r)
            slope = by_q * (2 - q) * entered / q - entered - 1
            low, high = np.where(excess > 0, x, low), np.where(excess > 0, high, x)
            step = x - excess / slope
            step = np.where((low <= step) & (step <= high), step, (low + high) / 2)
            step = np.where(blocked, x, step)
            moved = np.abs(step - x).max()
            x = step
            if moved <= NEWTON_TOLERANCE:
                break
        self.log_r = x
        return np.exp(x), np.where(blocked, 0.0, (1 - by_entering) / slope)

    def shares(self) -> list[Share]:
        """The share of each entry of flows."""
        blocked = self.bound - self.r <= 1e-9 * self.bound
        return [
            Share(
                flows=f,
                drawing_factor=float(self.p[i]),
                matching_probability=float(self.r[i]),
                dropping_probability=1.0 if blocked[i] else float(self.q[i]),
                sent=float(self.sent[i]),
                delivered=0.0 if blocked[i] else float(self.sent[i] * (1 - self.q[i])),
                starvation_bound=starvation_bound(float(self.r[i])),
            )
            for i, f in enumerate(self.flows)
        ]


def fairness(alphas: Sequence[float], p: float, queue_rate: float) -> tuple[float, float]:
    """The ratios of the goodputs of two TCP flows under CHOKeW (22), and under an AQM that drops
    both with the same probability, such as RED or BLUE (20).

    ``alphas`` are the factors in lambda_i = alpha_i sqrt(3 / (2 q_i)), packets/s. ``p`` is the
    drawing factor of the flows, ``queue_rate`` the rate at which packets of all flows enter the
    queue, packets/s.

    The paper calls CHOKeW fairer if the first ratio lies between 1 and the second. It proves the
    upper bound only: near starvation the flow with the larger alpha gets less than the other.
    """
    delivered = []
    for alpha in alphas:

        def excess(r: float, alpha: float = alpha) -> float:
            q = -2 * math.expm1(p * math.log1p(-r))
            return alpha * math.sqrt(1.5 / q) * (1 - q / 2) - r * queue_rate

        r = brentq(excess, 1e-15, starvation_share(p), xtol=1e-16, rtol=1e-13)
        q = -2 * math.expm1(p * math.log1p(-r))
        delivered.append(alpha * math.sqrt(1.5 / q) * (1 - q))
    first, second = delivered
    return first / second, alphas[0] / alphas[1]
