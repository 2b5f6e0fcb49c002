"""Solves many fluid models at once, on all processors."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

import marqueue._core as _core
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.model import TOLERANCE, Description, Observables, check_times


def batch(
    descriptions: Sequence[Description],
    times: Floats,
    *,
    tolerance: float = TOLERANCE,
    longest: float = np.inf,
) -> list[Observables | ModelError]:
    """Observables of each model at these times, s, in the order of the descriptions.

    If a description is invalid or a solution cannot be continued, its place holds the error, so
    that the other solutions are not lost. Releases the GIL.
    """
    times = np.ascontiguousarray(times, dtype=float)
    check_times(times, tolerance)
    try:
        found = _core.fluid_batch(json.dumps(list(descriptions)), times, tolerance, longest)
    except _core.FluidError as error:
        raise ModelError(error.args[1]) from None
    return [ModelError(each) if isinstance(each, str) else Observables(**each) for each in found]
