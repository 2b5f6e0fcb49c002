"""The mean window as a map from one round trip to the next, with p_N at the given N.

    W' = W + 1 - (W/2) P(rho),    rho = W / CT,

where P is the probability that a flow is marked in a round trip. The fixed point has W P = 2. The
derivative there is 1 - P/2 - g, g = (d ln P / d rho) / CT: it is unstable if g >= 2 - P/2, to first
order g >= 2. The map ignores the distribution of windows;
:mod:`marqueue.theory.marking_chain.stability` includes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marqueue.errors import ModelError
from marqueue.theory.marking_chain.model import Model

Floats = npt.NDArray[np.float64]

STEP = 1e-6
"""Step of a numerical derivative by the load, relative to 1 - rho."""


@dataclass(frozen=True)
class MeanWindow:
    """The map of the mean window at its fixed point."""

    window: float
    """W, packets."""
    load: float
    """rho = W / CT."""
    marked: float
    """P: probability that a flow is marked in a round trip, 2 / W."""
    gain: float
    """g = (d ln P / d rho) / CT."""
    derivative: float
    """Derivative of the map: 1 - P/2 - g. Stable above -1."""

    @property
    def stable(self) -> bool:
        """Whether deviations decay."""
        return self.derivative > -1


def mean_window(model: Model) -> MeanWindow:
    """The fixed point of the map. Raises :class:`ModelError` for several classes or slots, which
    the map does not model, and if W / 2 <= 1 at the fixed point."""
    if model.steps_per_rtt != [1]:
        raise ModelError("the map of the mean window is of one class whose round trip is one slot")
    if model.ct <= 2:
        raise ModelError(
            f"ct: got {model.ct:g}, expected more than 2: W P = 2 has no solution with P <= 1 below"
        )
    queue = model.at

    def marked(load: float) -> float:
        # w = rho CT changes with the load.
        return float(queue.marking(np.array([load]), np.array([load * model.ct]))[0, 0])

    def excess(load: float) -> float:
        return load * model.ct * marked(load) - 2

    # P rises with rho from 0 to 1, at rho = 1 below which W P = CT P > 2.
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    load = low
    step = STEP * (1 - load)
    slope = (marked(load + step) - marked(load - step)) / (2 * step)
    p = marked(load)
    gain = slope / p / model.ct
    return MeanWindow(load * model.ct, load, p, gain, 1 - p / 2 - gain)
