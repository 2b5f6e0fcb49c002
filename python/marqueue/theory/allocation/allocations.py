"""What flows get without DRQ: TCP-like and max-min fair allocations of CPUs and links.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section II-B, compare the optimum with what TCP gets
under RED on every resource: flows of one way have equal rates, the largest that all capacities
allow. In a network that becomes water-filling: all rates rise together, as multiples of alpha, and
those of flows that meet a full resource stay where they are.

Fair queueing at every resource (of cycles at a CPU, of bits at a link) is max-min fair in the unit
of each: a flow gets as much of its bottleneck as any other flow there, and what it leaves elsewhere
is divided among the others. A level f_i of each resource says it,

    r_s = alpha_s min over the resources i of s of f_i / w_s^i

where f_i makes resource i full, or is so high that it holds back nobody. Bonald and Roberts
("Multi-resource fairness: objectives, algorithms and performance", ACM SIGMETRICS 2015) call this
bottleneck max fairness: such an allocation always exists.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from marqueue.errors import ModelError
from marqueue.theory.allocation.resources import Allocation, Floats, Sharing

#: How far from full a full resource may end, and after how many rounds at most: in random networks
#: of 20 resources it takes about a hundred.
FULL, ROUNDS = 1e-9, 20_000


def feasible(sharing: Sharing) -> Floats:
    """Rates, bits/s, that every resource bears: each is divided once, in proportion to alpha, and
    what flows leave there stays unused."""
    load = sharing.density @ (sharing.count * sharing.weight)
    with np.errstate(divide="ignore"):
        level = sharing.capacity / load
    rates: Floats = sharing.weight * _least(sharing.density, level)
    return rates


def tcp_like(sharing: Sharing) -> Allocation:
    """The largest rates in proportion to alpha, by water-filling."""
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
    """Fair queueing at every resource, in shares as alpha go.

    Raises :class:`ModelError` if the levels do not settle, which no network is known to do.
    """
    finite = np.isfinite(sharing.capacity)
    share = csr_array(sharing.density[finite] / sharing.capacity[finite][:, None])
    # At the highest level one flow alone may take all of a resource.
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
    """The least level over density of each column."""
    entries = density.tocoo()
    least = np.full(density.shape[1], np.inf)
    np.minimum.at(least, entries.col, level[entries.row] / entries.data)
    return least
