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


def feasible(sharing: Sharing) -> Floats:
    """Feasible rates, bits/s: each resource is divided in proportion to alpha, and flows do not
    take over what others leave."""
    load = sharing.density @ (sharing.count * sharing.weight)
    with np.errstate(divide="ignore"):
        level = sharing.capacity / load
    rates: Floats = sharing.weight * _least(sharing.density, level)
    return rates


def tcp_like(sharing: Sharing) -> Allocation:
    """The largest feasible rates in proportion to alpha, by water-filling."""
    rates = np.zeros(len(sharing.flows))
    rising = np.ones(len(sharing.flows), dtype=bool)
    grows = sharing.count * sharing.weight
    level = 0.0
    left = sharing.capacity.copy()
    while rising.any():
        load = sharing.density @ np.where(rising, grows, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(load > 0, left / load, np.inf)
        rise = float(room.min())
        level += rise
        left = np.where(np.isfinite(left), left - rise * load, left)
        full = room <= rise * (1 + 1e-12)
        met = rising & (sharing.density[full].sum(axis=0) > 0)
        rates[met] = level * sharing.weight[met]
        rising &= ~met
    return Allocation(sharing, rates)


def max_min(sharing: Sharing) -> Allocation:
    """Fair queueing at every resource, weighted by alpha.

    Raises :class:`ModelError` if the levels do not converge; no network is known for which they do
    not.
    """
    finite = np.isfinite(sharing.capacity)
    share = csr_array(sharing.density[finite] / sharing.capacity[finite][:, None])
    # At the highest level a single flow could take all of a resource.
    highest = np.full(share.shape[0], 1 / float(sharing.weight.min()))
    level = highest
    for _ in range(ROUNDS):
        rates = sharing.weight * _least(share, level)
        used = np.asarray(share @ (sharing.count * rates))
        if np.all((np.abs(used - 1) < FULL) | ((level == highest) & (used < 1))):
            return Allocation(sharing, rates)
        with np.errstate(divide="ignore"):
            level = np.minimum(level / used, highest)
    raise ModelError(f"max-min fair levels did not settle in {ROUNDS} rounds")


def _least(density: csr_array, level: Floats) -> Floats:
    """The smallest level / density in each column."""
    entries = density.tocoo()
    least = np.full(density.shape[1], np.inf)
    np.minimum.at(least, entries.col, level[entries.row] / entries.data)
    return least
