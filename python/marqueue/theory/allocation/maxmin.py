"""Max-min fair rates by water-filling, on any routes, in whatever unit each resource has.

All rates rise together, in proportion to weights, until a resource stops those that use it; the
others rise on (Bertsekas and Gallager, Data Networks, section 6.5.2). Source i takes
``usage[j, i]`` of resource j for each unit of its rate: 1 at a link that it crosses, cycles per bit
at a CPU, n times that for n like sources, 0 elsewhere.
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
"""At which level each resource stops those that rise there: from the load of those that it did not
stop, and the load that the rising ones add for each unit of the level."""

#: Levels that differ by less, relative, are one: resources that stop rates at the same moment.
SAME = 1e-12


@dataclass(frozen=True)
class WaterFilling:
    """How far the water rose for each source, and what stopped it."""

    rates: Floats
    """Of each source, ``(N,)``: level times weight."""
    bottleneck: npt.NDArray[np.int64]
    """The resource that stopped each source, ``(N,)``; of several at once the first."""
    level: Floats
    """At which each source was stopped, ``(N,)``."""


def max_min(usage: csr_array, capacity: Floats, weight: Floats | None = None) -> WaterFilling:
    """Max-min fair rates in proportion to ``weight`` (1 by default).

    ``usage`` is ``(M, N)``, resources by sources; ``capacity`` ``(M,)``, infinity for a resource
    that stops nobody. Raises :class:`ModelError` for a source that nothing stops.
    """
    return fill(usage, weight, lambda load, growth: (capacity - load) / growth)


def fill(usage: csr_array, weight: Floats | None, limit: Limit) -> WaterFilling:
    """Water-filling where ``limit`` says when a resource stops those that use it.

    Raises :class:`ModelError` for a source that nothing stops.
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
