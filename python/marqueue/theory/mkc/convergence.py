"""Rates of convergence: Lemma 2 (efficiency), Theorems 5 and 6 and Corollary 3 (fairness).

Formulas take C and alpha in one unit of rates. Steps are those of a source; each is D steps of the
map.
"""

from __future__ import annotations

import math

import numpy as np

from marqueue.errors import ModelError
from marqueue.theory.mkc.laws import Aimd, Mkc
from marqueue.theory.mkc.maps import Trajectory, iterate
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Loss

#: Largest number of iterated steps, as a multiple of the theorem's.
PATIENCE = 3


def total_rate(
    n: Floats, delay: int, capacity: float, sources: int, alpha: float, beta: float, start: float
) -> Floats:
    """X(n) = (1 - beta)^(n / D) (X0 - X*) + X*, X* = C + N alpha / beta, of EMKC with equal delays
    (52). Exact at all steps if n / D is rounded up."""
    settled = capacity + sources * alpha / beta
    rate: Floats = (1 - beta) ** np.ceil(n / delay) * (start - settled) + settled
    return rate


def steps_mkc(capacity: float, sources: int, alpha: float, beta: float, epsilon: float) -> float:
    """theta_M (54), without its error term: steps of EMKC from the most unfair rates until the
    smallest rate is 1 - ``epsilon`` times the largest."""
    _check(sources, epsilon)
    fair = math.log(sources) - math.log(epsilon)
    return (capacity + sources * alpha / beta) * fair / (sources * alpha)


def steps_aimd(capacity: float, sources: int, alpha: float, beta: float, epsilon: float) -> float:
    """theta_A (56): the same for rate-based AIMD."""
    return steps_mkc(capacity, sources, alpha, beta, epsilon) / ratio(beta)


def ratio(beta: float) -> float:
    """theta_M / theta_A = -ln(1 - beta) / beta (Corollary 3), for N alpha far below C."""
    if not 0 < beta < 1:
        raise ModelError(f"beta: got {beta:g}, expected more than 0 and less than 1")
    return -math.log(1 - beta) / beta


def from_most_unfair(
    law: Mkc | Aimd, capacity: float, sources: int, steps: int, delay: int = 1
) -> Trajectory:
    """Iterates ``steps`` steps on one link from the most unfair rates: one source at C, all others
    at 0."""
    network = Network.single(capacity, sources, delay)
    start = np.zeros(sources)
    start[-1] = capacity
    return iterate(network, law, Loss(network.capacity), start, steps, watch=(0, sources - 1))


def iterated_steps(
    law: Mkc | Aimd, capacity: float, sources: int, epsilon: float, delay: int = 1
) -> int | None:
    """The number of steps of Theorems 5 and 6, by iteration; None if it exceeds :data:`PATIENCE`
    times the result of Theorem 5."""
    alpha, beta = (float(each[0]) for each in law.parameters(sources))
    expected = steps_mkc(capacity, sources, alpha, beta, epsilon)
    limit = int(PATIENCE * expected + 100) * delay
    return from_most_unfair(law, capacity, sources, limit, delay).steps_to_fairness(epsilon)


def _check(sources: int, epsilon: float) -> None:
    if sources < 2:
        raise ModelError(f"sources: got {sources}, expected at least 2 to be fair among")
    if not 0 < epsilon < 1:
        raise ModelError(f"epsilon: got {epsilon:g}, expected more than 0 and less than 1")
