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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from marqueue.errors import ModelError

Floats = npt.NDArray[np.float64]

#: Relative accuracy of the solution.
TOLERANCE = 1e-10
#: Halvings of an interval: more than this accuracy needs.
HALVINGS = 50
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

    def excess(log_p0: float) -> float:
        return _Mix(flows, math.exp(log_p0), queue).solve().delivered - capacity

    low, high = math.log(1e-9), math.log(LARGEST_P0)
    if excess(high) > 0:
        raise ModelError(f"flows: they exceed the link at any p0 up to {LARGEST_P0:g}")
    p0 = math.exp(brentq(excess, low, high, xtol=TOLERANCE))
    mix = _Mix(flows, p0, queue).solve()
    return Equilibrium(p0, queue, waiting_time(queue, mix.entering), tuple(mix.shares()))


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

    def __init__(self, flows: Sequence[Flows], p0: float, queue: float) -> None:
        self.flows = flows
        self.queue = queue
        self.count = np.array([f.count for f in flows], dtype=float)
        self.p = np.array([p0 / f.weight for f in flows])
        self.tcp = np.array([f.kind == "tcp" for f in flows])
        self.rtt = np.array([f.rtt for f in flows])
        self.rate = np.array([f.rate for f in flows])
        #: r at which q = 1 (9): no flow can hold a larger share of the queue.
        self.bound = np.minimum(-np.expm1(-math.log(2) / self.p), 1 - 1e-15)
        self.rto = np.array([f.rto for f in flows])
        self.lost_at_once = np.array([f.lost_at_once for f in flows])

    def solve(self) -> _Mix:
        """Finds the entering rate at which the shares of the queue sum to one."""

        def missing(log_rate: float) -> float:
            return float(self.count @ self._shares(math.exp(log_rate)) - 1.0)

        low, high = math.log(1e-9), math.log(1e15)
        if missing(low) < 0:
            # The largest possible shares do not fill the queue: all flows are starved.
            self.entering = math.exp(low)
        else:
            self.entering = math.exp(brentq(missing, low, high, xtol=TOLERANCE))
        self.r = self._shares(self.entering)
        self.q = np.minimum(self._dropping(self.r), 1.0)
        self.sent = self._sent(self.q, self.entering)
        self.delivered = float(self.count @ (self.sent * (1 - self.q)))
        return self

    def _dropping(self, r: Floats) -> Floats:
        """q (7), without cancellation for small r."""
        q: Floats = -2 * np.expm1(self.p * np.log1p(-r))
        return q

    def _sent(self, q: Floats, entering: float) -> Floats:
        """lambda, packets/s: TCP by footnote 8, or with timeouts."""
        q = q / self.lost_at_once
        rtt = self.rtt + self.queue / entering
        timeout = np.where(self.rto > 0, np.maximum(self.rto, rtt), 0.0)
        between = rtt * np.sqrt(q / 1.5)
        waiting = timeout * np.minimum(1, 3 * np.sqrt(3 * q / 8)) * q * (1 + 32 * q**2)
        with np.errstate(divide="ignore"):
            return np.where(self.tcp, 1 / (between + waiting), self.rate)

    def _shares(self, entering: float) -> Floats:
        """r of each entry: the root of r * entering = lambda eta, whose right side falls with r."""
        low, high = np.zeros_like(self.bound), self.bound.copy()
        for _ in range(HALVINGS):
            r = (low + high) / 2
            q = self._dropping(r)
            enters = self._sent(q, entering) * (1 - q / 2)
            above = enters > r * entering
            low, high = np.where(above, r, low), np.where(above, high, r)
        return (low + high) / 2

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
