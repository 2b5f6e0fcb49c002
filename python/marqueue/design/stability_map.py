"""A stability map: damping over a plane, with the exact boundary and what a theorem guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marqueue.design.design import Design, Plane, damping
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats


@dataclass(frozen=True)
class StabilityMap:
    """The damping and the guarantee over a grid of settings."""

    plane: Plane
    damping: Floats
    """Damping of the rightmost root, shape ``(y, x)``; NaN without an equilibrium."""
    guaranteed: npt.NDArray[np.bool_]
    """Whether the theorem guarantees stability, shape ``(y, x)``."""


def stability_map(
    design: Design, progress: Callable[[float, float], None] = lambda done, total: None
) -> StabilityMap:
    """The map of a design's plane."""
    plane = design.plane
    shape = len(plane.y.values), len(plane.x.values)
    of_roots, guaranteed = np.full(shape, math.nan), np.zeros(shape, dtype=bool)
    for j, y in enumerate(plane.y.values):
        progress(j, shape[0])
        for i, x in enumerate(plane.x.values):
            try:
                setting = plane.at(float(x), float(y))
                of_roots[j, i] = damping(complex(setting.root))
                guaranteed[j, i] = setting.guaranteed()
            except ModelError:
                continue
    progress(shape[0], shape[0])
    return StabilityMap(plane, of_roots, guaranteed)
