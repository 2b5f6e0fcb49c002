"""Max-min fair rates by water-filling, for any routes and units of resources.

All rates rise together, in proportion to weights, until a resource is full and stops the sources
that use it; the others rise further (Bertsekas and Gallager, Data Networks, section 6.5.2). Source
i uses ``usage[j, i]`` of resource j for each unit of its rate: 1 at a link on its route, cycles per
bit at a CPU, n times that for n identical sources, 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from marqueue.errors import ModelError

Floats = npt.NDArray[np.float64]

Limit = Callable[[Floats, Floats], Floats]
"""The level at which each resource stops the sources that use it. Arguments: the load of the
sources that stopped earlier, and the load added by rising sources for each unit of the level."""

#: Relative difference below which two levels are equal: these resources are full at the same time.
SAME = 1e-12


@dataclass(frozen=True)
class WaterFilling:
    """The level of each source, and the resource that stopped it."""

    rates: Floats
    """Rate of each source, ``(N,)``: level times weight."""
    bottleneck: npt.NDArray[np.int64]
    """The resource that stopped each source, ``(N,)``; the first of several."""
    level: Floats
    """The level at which each source was stopped, ``(N,)``."""


def max_min(usage: csr_array, capacity: Floats, weight: Floats | None = None) -> WaterFilling:
    """Max-min fair rates in proportion to ``weight`` (1 by default).

    ``usage`` is ``(M, N)``, resources by sources; ``capacity`` is ``(M,)``, infinity for a resource
    without a limit. Raises :class:`ModelError` for a source that no resource limits.
    """
    return fill(usage, weight, lambda load, growth: (capacity - load) / growth)


def fill(usage: csr_array, weight: Floats | None, limit: Limit) -> WaterFilling:
    """Water-filling with any rule ``limit`` for the level at which a resource is full.

    Raises :class:`ModelError` for a source that no resource limits.
    """
    sources = usage.shape[1]
    weight = np.ones(sources) if weight is None else weight
    level = np.zeros(sources)
    bottleneck = np.full(sources, -1, dtype=np.int64)
    while (rising := bottleneck < 0).any():
        load = usage @ np.where(rising, 0.0, level * weight)
        growth = usage @ np.where(rising, weight, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            stops = np.where(growth > 0, limit(load, growth), np.inf)
        first = float(stops.min())
        if not np.isfinite(first):
            raise ModelError(
                f"source {int(np.argmax(rising))}: no resource on its route stops it, expected one "
                "of finite capacity"
            )
        full = np.flatnonzero(stops <= first + SAME * abs(first))
        for resource in full[::-1]:
            met = rising & (usage[[resource]].toarray()[0] > 0)
            level[met], bottleneck[met] = first, resource
    return WaterFilling(level * weight, bottleneck, level)
