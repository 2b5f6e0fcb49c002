"""Allocations of CPUs and links other than proportional fairness: TCP-like and max-min fair.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section II-B, compare the optimum with the rates of
TCP under RED at every resource. Flows of one route then have equal rates, the largest that all
capacities allow. In a network this is water-filling: all rates rise together, as multiples of
alpha, until a resource is full; the flows that cross it keep their rates.

Fair queueing at every resource (of cycles at a CPU, of bits at a link) is max-min fair in the unit
of each resource. A flow gets as much of its bottleneck as any other flow there; the capacity it
leaves elsewhere is divided among the others. With a level f_i for each resource,

    r_s = alpha_s min over the resources i of s of f_i / w_s^i

where f_i either makes resource i full or is too high to limit any flow. Bonald and Roberts
("Multi-resource fairness: objectives, algorithms and performance", ACM SIGMETRICS 2015) call this
bottleneck max fairness and prove that such an allocation always exists.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from marqueue.errors import ModelError
from marqueue.theory.allocation.resources import Allocation, Floats, Sharing

#: Tolerated distance of a full resource from its capacity, and the largest number of rounds; random
#: networks of 20 resources take about a hundred.
FULL, ROUNDS = 1e-9, 20_000
#: Relative difference below which two levels are equal: these resources are full at the same time.
SAME = 1e-12


def feasible(sharing: Sharing) -> Floats:
    """Feasible rates, bits/s: each resource is divided in proportion to alpha, and flows do not
    take over what others leave."""
    load = sharing.density @ (sharing.count * sharing.weight)
    with np.errstate(divide="ignore"):
        level = sharing.capacity / load
    by_flow = csr_array(sharing.density.T)
    least = _least_in_rows(by_flow, level[by_flow.indices] / by_flow.data)
    rates: Floats = sharing.weight * least
    return rates


def tcp_like(sharing: Sharing) -> Allocation:
    """The largest feasible rates in proportion to alpha, by water-filling.

    A resource that is full no later than any other on the way of its flows stops these flows. In
    each round that holds for many resources, whose order among each other does not matter: the
    levels at which others are full only rise when flows stop. So a network of 10,000 links takes
    tens of rounds, where raising one level for all takes thousands.
    """
    by_resource, by_flow = sharing.density, csr_array(sharing.density.T)
    rates = np.zeros(len(sharing.flows))
    rising = np.ones(len(sharing.flows), dtype=bool)
    left = sharing.capacity.copy()
    while rising.any():
        load = by_resource @ np.where(rising, sharing.count * sharing.weight, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.where(load > 0, left / load, np.inf)
        first = _least_in_rows(by_flow, level[by_flow.indices])
        earliest = _least_in_rows(by_resource, np.where(rising, first, np.inf)[by_resource.indices])
        stops = level <= earliest * (1 + SAME)
        stopped = rising & (by_flow @ stops > 0)
        rates[stopped] = (sharing.weight * first)[stopped]
        left -= by_resource @ np.where(stopped, sharing.count * rates, 0.0)
        rising &= ~stopped
    return Allocation(sharing, rates)


def max_min(sharing: Sharing) -> Allocation:
    """Fair queueing at every resource, weighted by alpha.

    Raises :class:`ModelError` if the levels do not converge; no network is known for which they do
    not.
    """
    finite = np.isfinite(sharing.capacity)
    if np.all(sharing.density[finite].data == 1):
        # Only links: a level is a rate there, and the levels of all resources are one.
        return tcp_like(sharing)
    share = csr_array(sharing.density[finite] / sharing.capacity[finite][:, None])
    by_flow = csr_array(share.T)
    densities = np.asarray(by_flow.data, dtype=float)
    # At the highest level a single flow could take all of a resource.
    highest = np.full(share.shape[0], 1 / float(sharing.weight.min()))
    level = highest
    for _ in range(ROUNDS):
        rates = sharing.weight * _least_in_rows(by_flow, level[by_flow.indices] / densities)
        used = np.asarray(share @ (sharing.count * rates))
        if np.all((np.abs(used - 1) < FULL) | ((level == highest) & (used < 1))):
            return Allocation(sharing, rates)
        with np.errstate(divide="ignore"):
            level = np.minimum(level / used, highest)
    raise ModelError(f"max-min fair levels did not settle in {ROUNDS} rounds")


def _least_in_rows(matrix: csr_array, values: Floats) -> Floats:
    """The smallest value in each row of a matrix; ``values`` has one for each of its entries."""
    least = np.full(matrix.shape[0], np.inf)
    there = np.diff(matrix.indptr) > 0
    least[there] = np.minimum.reduceat(values, matrix.indptr[:-1][there])
    return least
