"""The marking probability of DRQ over a path of CPUs and links: exact, and as its objective says.

Shin, Chong and Rhee, "Dual-resource TCP/AQM for processing-constrained networks", section III-B. A
resource i on the path has a pre-marking probability u_i, weighted by density: w_i sigma_i at a CPU,
rho_i at a link. It marks with probability delta_i = u_i^2, and with epsilon_i = sqrt(2) u_i it
signals, or marks packets that others have signalled (22), (23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.statistics.estimates import Floats


@dataclass(frozen=True)
class States:
    """Probability of each state of the ECN field."""

    initial: float
    """00."""
    signalled: float
    """10."""
    congested: float
    """11: marked or lost."""


def marking(u: Sequence[float]) -> States:
    """The states of packets after resources with these ``u``, in the order of the path, by the
    recursion (24)-(27); probabilities are limited to 1.

    Raises ValueError for a negative ``u``.
    """
    p00, p10, p11 = 1.0, 0.0, 0.0
    for each in u:
        if not each >= 0:
            raise ValueError(f"u is {each}, expected at least 0")
        delta, epsilon = min(each * each, 1.0), min(np.sqrt(2.0) * each, 1.0)
        p11 += (1 - p11) * delta + p10 * (1 - delta) * epsilon
        p10, p00 = (
            (1 - delta) * (p10 * (1 - epsilon) + p00 * epsilon),
            p00 * (1 - delta) * (1 - epsilon),
        )
    return States(p00, p10, p11)


def approximation(u: Sequence[float]) -> float:
    """(21), (30): the square of the sum, to which the recursion converges as all u go to 0."""
    return float(sum(u)) ** 2


def objective(u: Sequence[float]) -> float:
    """(15): the probability that DRQ aims at, S^2/(1 + S^2), S the sum of all u."""
    square = approximation(u)
    return square / (1 + square)


def errors(total: Floats, hops: int) -> Floats:
    """The error of the objective (15) over ``hops`` equal resources.

    For each sum of u in ``total``: exact probability / objective - 1, the relative excess of marks.
    """
    exact = np.array([marking([s / hops] * hops).congested for s in total])
    relative: Floats = exact / np.array([objective([s]) for s in total]) - 1.0
    return relative
