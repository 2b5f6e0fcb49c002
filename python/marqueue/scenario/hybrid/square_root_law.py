"""Rates by the square-root law of TCP on routes over several bottlenecks.

A flow has the rate w / sqrt(q), where q is the sum of the signals, losses or marks, of its links,
and w is in proportion to 1/RTT (Mathis, Semke, Mahdavi and Ott, CCR 1997). A link signals as much
as keeps its load at its capacity, and not at all if its load is less (Low, IEEE/ACM ToN 11(4),
2003).
"""

import numpy as np

import marqueue._core as _core
from marqueue.scenario.hybrid.progressive_filling import Array, Crossings

ROUNDS = 200
"""Steps of the iteration. The signals of a link with a load of 0.95 fall to 3e-5 of what they were,
so the loads of links that are no bottlenecks are known to less than a percent."""


def tcp_rates(crossings: Crossings, capacity: Array, weights: Array, wanted: Array) -> Array:
    """The rates of the bundles, bit/s: shape [bundles]. The arguments are those of
    :func:`~marqueue.scenario.hybrid.progressive_filling.fill`.

    Each link multiplies its signals by its load over its capacity, again and again
    (``crates/theory/src/square_root_law.rs``). Loads of bottlenecks may differ from their capacity
    by what is left of the iteration.
    """
    return _core.square_root_rates(
        crossings.first.astype(np.int64),
        crossings.links.astype(np.int64),
        crossings.shares,
        np.asarray(capacity, dtype=float),
        np.asarray(weights, dtype=float),
        np.asarray(wanted, dtype=float),
        ROUNDS,
    )
