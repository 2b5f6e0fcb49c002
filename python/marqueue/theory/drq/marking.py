"""How DRQ marks packets over a path of CPUs and links: exactly, and as its objective has it.

Shin, Chong and Rhee, "Dual-resource TCP/AQM for processing-constrained networks", section III-B. A
resource i on the path has u_i = w_i sigma_i if it is a CPU, rho_i if it is a link: its pre-marking
probability, weighted by the cycles a bit that the flow takes. It marks with delta_i = u_i^2, and
signals, or marks what others have signalled, with epsilon_i = sqrt(2) u_i (22), (23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.statistics.estimates import Floats


@dataclass(frozen=True)
class States:
    """With which probability a packet is in each state of the ECN field."""

    initial: float
    """00."""
    signalled: float
    """10."""
    congested: float
    """11: marked, or lost."""


def marking(u: Sequence[float]) -> States:
    """The states of packets behind resources with these ``u``, in the order of the path: the
    recursion (24)-(27), where probabilities end at 1.

    Raises ValueError for a ``u`` below zero.
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
    """(21), (30): the square of the sum, which the recursion approaches as all u go to 0."""
    return float(sum(u)) ** 2


def objective(u: Sequence[float]) -> float:
    """(15): what DRQ is meant to mark, S^2/(1 + S^2) with S the sum of all u."""
    square = approximation(u)
    return square / (1 + square)


def errors(total: Floats, hops: int) -> Floats:
    """What the objective (15) is wrong by over ``hops`` equal resources, as data of a figure.

    For each sum of u in ``total`` the exact probability divided by the objective, minus 1: how much
    more than intended is marked.
    """
    exact = np.array([marking([s / hops] * hops).congested for s in total])
    relative: Floats = exact / np.array([objective([s]) for s in total]) - 1.0
    return relative
