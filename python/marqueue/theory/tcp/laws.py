"""Throughput laws of one TCP flow. Windows in segments, rates in segments per round-trip time.

M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior of the TCP congestion avoidance
algorithm", ACM CCR 27(3), 1997; T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of ideal
TCP congestion avoidance", 1996; J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP
throughput: a simple model and its empirical validation", SIGCOMM 1998; RFC 9438, sections 4 and 5.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import spsolve

#: Below this share of marks the chain of windows is not solved; the mean window is this constant
#: divided by sqrt(p).
RAREST, HIGHEST = 1e-6, 8.0


def regular_aimd(p: float, per_ack: int = 1, a: float = 1.0, beta: float = 0.5) -> float:
    """The saw-tooth: every 1/p-th packet is lost, the window grows by ``a`` in ``per_ack`` round
    trips and is reduced to ``beta`` times itself. With a = 1 and beta = 1/2 this is the square-root
    law, sqrt(3/(2bp))."""
    return math.sqrt(a * (1 + beta) / (2 * per_ack * (1 - beta) * p))


def random_aimd(p: float, per_ack: int = 1, a: float = 1.0, beta: float = 0.5) -> float:
    """The same law with independent random losses of probability ``p``.

    y = b W^2/2a grows by one per packet and falls to beta^2 y at a loss, and a packet takes 1/W of
    a round trip, so the rate is the inverse of the mean of 1/W over packets. The balance of y^s, E
    y^(s-1) = p (1 - q^s)/s E y^s with q = beta^2, gives E y^s = p^-s Gamma(1 + s) times the product
    over k >= 1 of (1 - q^(s+k))/(1 - q^k). For Reno this is 1.31/sqrt(p), the constant of Ott et
    al.
    """
    q, s = beta**2, -0.5
    product = math.prod((1 - q ** (s + k)) / (1 - q**k) for k in range(1, 200))
    inverse_root = math.sqrt(p) * math.gamma(1 + s) * product
    rate: float = math.sqrt(2 * a / per_ack) / inverse_root
    return rate


def window_at_loss(p: float, per_ack: int = 1) -> float:
    """The peak of the saw-tooth."""
    return math.sqrt(8 / (3 * per_ack * p))


def marked_aimd(p: float, per_ack: int = 1) -> float:
    """Reno with ECN and independent marks of probability ``p``. Once per round trip the window is
    halved if one of its packets was marked; otherwise it grows by 1/``per_ack`` (RFC 3168, 6.1.2:
    once per window of data). Marks cause no timeouts.

    The result is the stationary mean window of that Markov chain, at least one. It converges to
    :func:`random_aimd` for small p, which replaces it below 1e-6, where they differ by less than a
    thousandth.
    """
    if p < RAREST:
        return random_aimd(p, per_ack)
    size = math.ceil(HIGHEST / math.sqrt(p / per_ack)) + 4 * per_ack
    windows = 1 + np.arange(size) / per_ack
    unmarked = (1 - p) ** windows
    up = np.minimum(np.arange(size) + 1, size - 1)
    halved = np.maximum(np.floor((windows / 2 - 1) * per_ack), 0).astype(int)
    each = np.arange(size)
    moves = csc_array(
        (
            np.concatenate([unmarked, 1 - unmarked]),
            (np.concatenate([up, halved]), np.concatenate([each, each])),
        ),
        shape=(size, size),
    )
    # The equations are linearly dependent: the first is replaced by the sum of shares, which is
    # one.
    equations = (moves - eye_array(size)).tolil()
    equations[0, :] = 1.0
    one = np.zeros(size)
    one[0] = 1.0
    share = spsolve(equations.tocsc(), one)
    return float(share @ windows)


def _pftk_window(p: float, per_ack: int) -> float:
    """E[W], Padhye et al., (13)."""
    third = (2 + per_ack) / (3 * per_ack)
    return third + math.sqrt(8 * (1 - p) / (3 * per_ack * p) + third**2)


def pftk_no_timeouts(p: float, per_ack: int = 1) -> float:
    """Padhye et al., (19) with (13): every loss is detected by duplicate acknowledgements."""
    window = _pftk_window(p, per_ack)
    return ((1 - p) / p + window) / (per_ack / 2 * window + 1)


def pftk(p: float, rtt: float, timeout: float, per_ack: int = 1) -> float:
    """Padhye et al., the full model without a receiver window: the delivered rate.

    ``p`` is the probability that a packet is lost if the packets before it in the same round were
    not. ``timeout`` is the first retransmission timeout T0, s.
    """
    b = per_ack
    window = _pftk_window(p, b)
    # Probability that a loss in a window of w is detected by a timeout.
    survive = (1 - p) ** 3
    by_timeout = min(
        1.0,
        (1 - survive) * (1 + survive * (1 - (1 - p) ** (window - 3))) / (1 - (1 - p) ** window),
    )
    backoff = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    received = (1 - p) / p + window / 2 + by_timeout
    rounds = b / 2 * window + 1
    idle = by_timeout * timeout * backoff / (1 - p)
    return float(received / (rounds + idle / rtt))


def regular_cubic(p: float, rtt: float, c: float = 0.4, beta: float = 0.7) -> float:
    """RFC 9438, section 5.1: every 1/p-th packet is lost, outside the Reno-friendly region."""
    scale = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25
    return float(scale * (rtt / p) ** 0.75)


def cubic_k(w_max: float, c: float = 0.4, beta: float = 0.7) -> float:
    """RFC 9438, equation (2): time from a reduction until the window is back at w_max, s."""
    return math.cbrt(w_max * (1 - beta) / c)


def friendly_alpha(beta: float = 0.7) -> float:
    """RFC 9438, section 4.3: the increase that makes AIMD with ``beta`` as fast as Reno."""
    return 3 * (1 - beta) / (1 + beta)


def dctcp_alpha(w_star: float) -> float:
    """Alizadeh et al., SIGCOMM 2010, equation (6): share of marked packets if all flows have the
    window ``w_star`` when the queue reaches the threshold."""
    low, high = 0.0, 1.0
    marked = (2 * w_star + 1) / (w_star + 1) ** 2
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 * (1 - middle / 4) < marked else (low, middle)
    return low


def random_cubic(p: float, rtt: float, c: float = 0.4, beta: float = 0.7) -> float:
    """The curve of RFC 9438, sections 4.2, 4.6 and 4.7, with independent random losses of
    probability ``p``, outside the Reno-friendly region; by drawing 20,000 stages, to about 1%."""
    to_loss = np.random.default_rng(1).exponential(1 / p, 20_000)
    w_max, cwnd, seconds = regular_cubic(p, rtt, c, beta), 0.0, 0.0
    cwnd = beta * w_max
    for packets in to_loss:
        k = math.cbrt((w_max - cwnd) / c)
        t = _stage(packets * rtt, w_max, k, c)
        seconds += t
        top = c * (t - k) ** 3 + w_max
        w_max = top * (1 + beta) / 2 if top < w_max else top
        cwnd = beta * top
    return float(to_loss.sum() * rtt / seconds)


def _stage(area: float, w_max: float, k: float, c: float) -> float:
    """The time until the integral of the window, segments s, is ``area``, s, by Newton's method."""
    t = area / w_max
    for _ in range(60):
        excess = c * ((t - k) ** 4 - k**4) / 4 + w_max * t - area
        step = excess / (c * (t - k) ** 3 + w_max)
        t -= step
        if abs(step) < 1e-9 * t:
            break
    return t
