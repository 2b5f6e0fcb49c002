"""Data of the paper's figures that are pure maps (1, 4 to 8), and of stationary loss against N.

Rates are in bits/s. Values that the paper does not give are documented where they are set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from marqueue.theory.mkc import convergence, lossfree
from marqueue.theory.mkc.laws import Aimd, Kelly, Law, Mkc, Scalable
from marqueue.theory.mkc.maps import Trajectory, first, iterate
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Loss, Virtual

#: Figures 5 to 8: alpha and beta of EMKC and AIMD.
ALPHA, BETA = 10e3, 0.5
#: Figures 7 and 8: the capacity and the epsilon where they are constant.
CAPACITY, EPSILON = 1e6, 0.1
#: Figures 7 (a) and 8 (a): the range of epsilon; (b): the range of C. The paper gives neither.
EPSILONS = np.geomspace(0.001, 0.5, 12)
CAPACITIES = np.geomspace(1e6, 100e6, 9)
#: Figure 7 (b): capacity per source where N grows with C.
PER_SOURCE = 500e3


@dataclass(frozen=True)
class Steps:
    """Steps to fairness against ``x``, by theory and by iteration."""

    x: Floats
    theory: Floats
    iterated: Floats


def figure_1(delay: int, steps: int = 150) -> Trajectory:
    """One source under Kelly control; kappa 1/2, omega 10 Mb/s, C 1000 Mb/s. It starts at x =
    omega; the paper does not give the start."""
    network = Network.single(1e9, 1, delay)
    return iterate(network, Kelly(0.5, 10e6), Loss(network.capacity), 10e6, steps)


def figure_4(
    random: bool, steps: int = 4000, seed: int = 1, delay: Sequence[int] = (20, 20)
) -> Trajectory:
    """Two EMKC sources; alpha 200 Mb/s, beta 0.5, C 10 Gb/s; D = ``delay``, or a delay of 1 to 100
    steps drawn at each step. They start at 1 and 5 Gb/s; the paper does not give the start."""
    network = Network.single(10e9, 2, 1 if random else delay)
    law, start = Mkc(200e6, 0.5), [1e9, 5e9]
    jitter = 99 if random else 0
    return iterate(network, law, Loss(network.capacity), start, steps, jitter=jitter, seed=seed)


def figure_5(steps: int = 1500) -> tuple[Trajectory, Trajectory]:
    """One EMKC source, and one of Scalable TCP, on 1 Gb/s, from 10 kb/s. The paper does not give
    the start, but 1.01^n from 10 kb/s takes nearly its 1,200 steps."""
    network = Network.single(1e9, 1)
    laws: tuple[Law, Law] = Mkc(ALPHA, BETA), Scalable()
    price = Loss(network.capacity)
    emkc, scalable = (iterate(network, law, price, ALPHA, steps) for law in laws)
    return emkc, scalable


def steps_to_saturation(trajectory: Trajectory, capacity: float) -> int | None:
    """The first step at which a link is full."""
    return first(trajectory.arrivals[:, 0] >= capacity)


def figure_6(beta: float, steps: int = 40) -> Trajectory:
    """One EMKC source on 1 Mb/s that starts at alpha."""
    network = Network.single(CAPACITY, 1)
    return iterate(network, Mkc(ALPHA, beta), Loss(network.capacity), ALPHA, steps)


@cache
def steps_over_epsilon(law: type[Mkc] | type[Aimd]) -> Steps:
    """Figures 7 (a) and 8 (a): two sources."""
    return _steps(law, EPSILONS, np.full(len(EPSILONS), CAPACITY), np.full(len(EPSILONS), 2))


@cache
def steps_over_capacity(law: type[Mkc] | type[Aimd], growing: bool) -> Steps:
    """Figures 7 (b) and 8 (b): two sources, or one for every 500 kb/s (rounded up, at least
    two)."""
    sources = np.array([max(2, math.ceil(c / PER_SOURCE)) if growing else 2 for c in CAPACITIES])
    steps = _steps(law, np.full(len(CAPACITIES), EPSILON), CAPACITIES, sources)
    return Steps(CAPACITIES, steps.theory, steps.iterated)


def _steps(
    law: type[Mkc] | type[Aimd], epsilons: Floats, capacities: Floats, sources: Floats
) -> Steps:
    formula = convergence.steps_mkc if law is Mkc else convergence.steps_aimd
    theory, iterated = [], []
    for epsilon, capacity, n in zip(epsilons, capacities, sources, strict=True):
        theory.append(formula(float(capacity), int(n), ALPHA, BETA, float(epsilon)))
        found = convergence.iterated_steps(
            law(ALPHA, BETA), float(capacity), int(n), float(epsilon)
        )
        iterated.append(math.nan if found is None else float(found))
    return Steps(epsilons, np.array(theory), np.array(iterated))


@dataclass(frozen=True)
class SteadyLoss:
    """Stationary loss ratio against the number of sources."""

    sources: Floats
    theory: Floats
    iterated: Floats


@cache
def steady_loss(adaptive: bool, capacity: float = 10e6, target: float = 0.98) -> SteadyLoss:
    """Stationary loss of EMKC, or with adaptive prices at half of the stable gain; alpha 10 kb/s,
    beta 0.5, delays of 1 to 10 steps. Mean over the last 100 of 3000 steps."""
    sources = np.array([1, 2, 5, 10, 20, 50, 100, 200, 400, 600, 1000])
    theory, iterated = [], []
    for n in map(int, sources):
        network = Network.single(capacity, n, 1 + np.arange(n) % 10)
        if adaptive:
            gain = lossfree.safe_gain(10) / 2
            price: Loss | Virtual = Virtual(network.capacity, gain, target)
            theory.append(lossfree.steady_loss_free(capacity, n, ALPHA, BETA, target))
        else:
            price = Loss(network.capacity)
            theory.append(lossfree.steady_loss(capacity, n, ALPHA, BETA))
        law = Mkc(ALPHA, BETA)
        arrivals = iterate(network, law, price, capacity / n, 3000, watch=()).arrivals[-100:, 0]
        iterated.append(float(np.maximum(0, arrivals - capacity).sum() / arrivals.sum()))
    return SteadyLoss(sources.astype(float), np.array(theory), np.array(iterated))
