"""Weighted max-min fair rates by progressive filling (Bertsekas and Gallager, "Data Networks",
2nd edition, section 6.5.2): all rates grow in proportion to their weights; where a link becomes
full, the rates of its flows stay; so do those that reach what their flow asks for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

DIGITS = 1e-4
"""A sum from which so much was subtracted that less than this share is left is made again: the
digits that it had lost are those of a rate."""


@dataclass(frozen=True)
class Crossings:
    """Which flow crosses which link: a sparse matrix by rows. Bundle ``i``, which are flows on one
    route, has the entries ``first[i]`` to ``first[i + 1]``."""

    first: Array
    """Shape [bundles + 1], integers."""
    links: Array
    """Shape [entries], indices of links."""
    shares: Array
    """Shape [entries]: what a link carries for 1 bit/s of the bundle's data. It is 1 in the
    direction of the data, and less in that of the acknowledgements."""

    @property
    def bundles(self) -> Array:
        """The bundle of each entry."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def loads(self, rates: Array, links: int) -> Array:
        """What each link carries, bit/s, from the rates of the bundles, bit/s: shape [links]."""
        carried = self.shares * np.repeat(rates, np.diff(self.first))
        loads: Array = np.bincount(self.links, carried, links)
        return loads


def fill(crossings: Crossings, capacity: Array, weights: Array, wanted: Array) -> Array:
    """The rates of the bundles, bit/s: shape [bundles].

    ``capacity`` of the links, bit/s. ``weights`` of the bundles, above zero: those of all flows of
    a bundle together. ``wanted``, bit/s: the most that a bundle takes, infinite for those that take
    what they get. No link carries more than its capacity, except by rounding. A bundle that crosses
    no link gets what it wants.
    """
    links = len(capacity)
    by_link = np.argsort(crossings.links, kind="stable")
    first_of_link = np.concatenate([[0], np.cumsum(np.bincount(crossings.links, minlength=links))])
    bundle_of_entry = crossings.bundles
    rates = np.zeros(len(weights))
    growing = np.ones(len(weights), dtype=bool)
    left = np.asarray(capacity, dtype=float).copy()
    slope = crossings.loads(weights, links)
    summed = slope.copy()
    entries = np.diff(first_of_link)
    limits = wanted / weights
    order = np.argsort(limits, kind="stable")
    sorted_limits, reached = limits[order], 0
    levels = _levels(left, slope, entries)
    while True:
        link = int(np.argmin(levels)) if links else -1
        level = levels[link] if links else np.inf
        until = int(np.searchsorted(sorted_limits, level, side="right"))
        if np.isinf(level):
            until = len(order)
        stopped = order[reached:until][growing[order[reached:until]]]
        reached = max(reached, until)
        if len(stopped) or np.isinf(level):
            # Links without these flows become full later, so all of them reach their limits.
            rates[stopped] = wanted[stopped]
            if np.isinf(level):
                return rates
        else:
            mine = by_link[first_of_link[link] : first_of_link[link + 1]]
            stopped = np.unique(bundle_of_entry[mine])
            stopped = stopped[growing[stopped]]
            rates[stopped] = weights[stopped] * level
        growing[stopped] = False
        _freeze(crossings, stopped, rates, weights, left, slope, entries)
        for faint in np.flatnonzero((entries > 0) & (slope < DIGITS * summed)):
            mine = by_link[first_of_link[faint] : first_of_link[faint + 1]]
            mine = mine[growing[bundle_of_entry[mine]]]
            slope[faint] = np.sum(crossings.shares[mine] * weights[bundle_of_entry[mine]])
            summed[faint] = slope[faint]
        levels = _levels(left, slope, entries)


def _levels(left: Array, slope: Array, entries: Array) -> Array:
    """The level at which each link becomes full: its capacity without what flows have for good,
    over the weights of those that grow."""
    grows = (entries > 0) & (slope > 0)
    levels: Array = np.full(len(left), np.inf)
    return np.divide(np.maximum(left, 0.0), slope, out=levels, where=grows)


def _freeze(
    crossings: Crossings,
    stopped: Array,
    rates: Array,
    weights: Array,
    left: Array,
    slope: Array,
    entries: Array,
) -> None:
    """Takes bundles that do not grow any more from their links."""
    starts, sizes = crossings.first[stopped], np.diff(crossings.first)[stopped]
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    mine = np.arange(int(sizes.sum())) + offsets
    owner = np.repeat(stopped, sizes)
    links, shares = crossings.links[mine], crossings.shares[mine]
    n = len(left)
    left -= np.bincount(links, shares * rates[owner], n)
    slope -= np.bincount(links, shares * weights[owner], n)
    entries -= np.bincount(links, minlength=n)
