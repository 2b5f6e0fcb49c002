"""The laws of sources with their parameters: one value for all sources, or one for each.

The formulas are in ``crates/theory``, ``rate_maps/law.rs``; this module validates their parameters.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from marqueue.errors import ModelError
from marqueue.theory.mkc.network import Floats, one_each


class StabilityWarning(UserWarning):
    """A parameter for which the system is unstable."""


@dataclass(frozen=True)
class Kelly:
    """Classic Kelly control (9): x(n) = x(n-1) + kappa (omega - x(n-D) sum of prices)."""

    kappa: npt.ArrayLike
    """The gain."""
    omega: npt.ArrayLike
    """Willingness to pay, a rate."""
    name: ClassVar[str] = "kelly"

    def parameters(self, sources: int) -> tuple[Floats, Floats]:
        """kappa and omega of each source. Raises :class:`ModelError`."""
        return positive("kappa", self.kappa, sources), positive("omega", self.omega, sources)


@dataclass(frozen=True)
class Mkc:
    """Max-min Kelly control (12): x(n) = x(n-D) + alpha - beta eta(n) x(n-D), eta the price of the
    most congested resource. With the price :class:`~marqueue.theory.mkc.price.Loss` it is EMKC."""

    alpha: npt.ArrayLike
    """A rate: the increase at each step."""
    beta: npt.ArrayLike
    """The gain."""
    name: ClassVar[str] = "mkc"

    def parameters(self, sources: int) -> tuple[Floats, Floats]:
        """alpha and beta of each source. Raises :class:`ModelError`."""
        return positive("alpha", self.alpha, sources), one_each("beta", self.beta, sources)

    def warn(self, sources: int) -> None:
        """Warns of a beta with which EMKC is unstable (Theorem 4)."""
        beta = one_each("beta", self.beta, sources)
        for i in np.flatnonzero(~((beta > 0) & (beta < 2)))[:1]:
            warnings.warn(
                f"beta[{i}]: got {beta[i]:g}, expected more than 0 and less than 2: EMKC is stable "
                "only then, for any delays (Theorem 4)",
                StabilityWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class Aimd:
    """Rate-based AIMD (55): increases by alpha at each step, or decreases by beta after a loss."""

    alpha: npt.ArrayLike
    """A rate."""
    beta: npt.ArrayLike
    """Relative decrease, below 1."""
    name: ClassVar[str] = "aimd"

    def parameters(self, sources: int) -> tuple[Floats, Floats]:
        """alpha and beta of each source. Raises :class:`ModelError`."""
        return positive("alpha", self.alpha, sources), share("beta", self.beta, sources)


@dataclass(frozen=True)
class Scalable:
    """Rate-based Scalable TCP: increases by the share a at each step, or decreases by b after a
    loss. Defaults of T. Kelly, PFLDnet 2003."""

    a: npt.ArrayLike = 0.01
    """Relative increase."""
    b: npt.ArrayLike = 0.125
    """Relative decrease, below 1."""
    name: ClassVar[str] = "scalable"

    def parameters(self, sources: int) -> tuple[Floats, Floats]:
        """a and b of each source. Raises :class:`ModelError`."""
        return positive("a", self.a, sources), share("b", self.b, sources)


Law = Kelly | Mkc | Aimd | Scalable


def positive(name: str, given: npt.ArrayLike, sources: int) -> Floats:
    """Values above 0, one for each source."""
    values = one_each(name, given, sources)
    for i in np.flatnonzero(values <= 0)[:1]:
        raise ModelError(f"{name}[{i}]: got {values[i]:g}, expected more than 0")
    return values


def share(name: str, given: npt.ArrayLike, sources: int) -> Floats:
    """Values between 0 and 1, one for each source."""
    values = positive(name, given, sources)
    for i in np.flatnonzero(values >= 1)[:1]:
        raise ModelError(f"{name}[{i}]: got {values[i]:g}, expected less than 1")
    return values
