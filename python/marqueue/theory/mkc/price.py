"""Prices of resources: functions of the arrival rate, which may adapt from step to step.

A price ``p(X)`` must increase with X for fixed points to be unique.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from marqueue.errors import ModelError
from marqueue.theory.mkc.network import Floats

Routers = Callable[[Floats], Floats]
"""Prices ``(M,)`` at arrival rates ``(M,)``; called once per step, in order."""


class Price(Protocol):
    """The prices of M resources."""

    def routers(self) -> Routers:
        """The resources in their initial state."""
        ...


class Static(Price, Protocol):
    """A price without memory."""

    def __call__(self, arrivals: Floats) -> Floats:
        """p, ``(M,)``, at arrival rates ``(M,)``."""
        ...

    def slope(self, arrivals: Floats) -> Floats:
        """dp/dX, ``(M,)``."""
        ...


@dataclass(frozen=True)
class Loss:
    """The loss ratio of a link without a buffer, (X - C) / X (5), (44); negative if the link is not
    full. With this price MKC is EMKC."""

    capacity: Floats
    """C, ``(M,)``."""

    def __call__(self, arrivals: Floats) -> Floats:
        """p."""
        with np.errstate(divide="ignore"):
            price: Floats = 1 - self.capacity / arrivals
        return price

    def slope(self, arrivals: Floats) -> Floats:
        """dp/dX = C / X^2."""
        slope: Floats = self.capacity / arrivals**2
        return slope

    def routers(self) -> Routers:
        """Without memory."""
        return self


@dataclass(frozen=True)
class Power:
    """(X / C)^k, the usual price of Kelly's framework; never negative."""

    capacity: Floats
    """C, ``(M,)``."""
    exponent: float = 4.0
    """k."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.exponent) and self.exponent > 0):
            raise ModelError(f"exponent: got {self.exponent:g}, expected more than 0")

    def __call__(self, arrivals: Floats) -> Floats:
        """p."""
        price: Floats = (np.maximum(arrivals, 0.0) / self.capacity) ** self.exponent
        return price

    def slope(self, arrivals: Floats) -> Floats:
        """dp/dX."""
        load = np.maximum(arrivals, 0.0) / self.capacity
        slope: Floats = self.exponent / self.capacity * load ** (self.exponent - 1)
        return slope

    def routers(self) -> Routers:
        """Without memory."""
        return self


@dataclass(frozen=True)
class Virtual:
    """The loss ratio at a virtual capacity V, which adapts until X = target C with any number of
    sources:

        p(n) = (X(n) - V(n)) / X(n),    V(n+1) = V(n) + gain (target C - X(n)),  0 <= V <= C.

    AVQ adapts its virtual queue in this way (Kunniyur and Srikant, SIGCOMM 2001, equation (1)); the
    MKC paper suggests it for a price without loss (section 5.3). The bounds are AVQ's: an idle link
    must not wind up, and V = 0 is a price of 1.
    """

    capacity: Floats
    """C, ``(M,)``."""
    gain: float
    """a: change of V per step / missing rate; for stability see
    :mod:`marqueue.theory.mkc.lossfree`."""
    target: float = 0.98
    """gamma: target utilization."""
    begin: float = 1.0
    """Initial V as a share of C."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gain) and self.gain > 0):
            raise ModelError(f"gain: got {self.gain:g}, expected more than 0")
        if not 0 < self.target <= 1:
            raise ModelError(f"target: got {self.target:g}, expected more than 0 and at most 1")

    def routers(self) -> Routers:
        """With the initial V."""
        virtual = self.begin * self.capacity

        def prices(arrivals: Floats) -> Floats:
            charged = Loss(virtual)(arrivals)
            virtual[:] = np.clip(
                virtual + self.gain * (self.target * self.capacity - arrivals), 0, self.capacity
            )
            return charged

        return prices
