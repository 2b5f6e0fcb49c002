"""Iterates maps of rates: any law, price, routes and delays.

The state before step 0 is that of step 0. As in the paper, rates may become negative, so that the
map shows instability. Only the requested values of N rates per step are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import marqueue._core as _core
from marqueue.errors import ModelError
from marqueue.theory.mkc.laws import Law, Mkc
from marqueue.theory.mkc.network import LONGEST_DELAY, Floats, Network, one_each
from marqueue.theory.mkc.price import Loss, Price

#: Memory limits: stored steps, and rates in transit.
MOST_STEPS, MOST_RATES = 10**7, 2.5e8


@dataclass(frozen=True)
class Trajectory:
    """Steps 0 to S of a map."""

    watched: tuple[int, ...]
    """Indices of the watched sources."""
    rates: Floats
    """Rates of the watched sources, ``(S + 1, watched)``."""
    arrivals: Floats
    """X, ``(S + 1, M)``: arrival rate at each resource."""
    prices: Floats
    """p, ``(S + 1, M)``."""
    total: Floats
    """Sum of all rates, ``(S + 1,)``."""
    squares: Floats
    """Sum of the squares of all rates, ``(S + 1,)``."""
    least: Floats
    """Smallest rate, ``(S + 1,)``."""
    greatest: Floats
    """Largest rate, ``(S + 1,)``."""
    sources: int
    """N."""

    @property
    def fairness(self) -> Floats:
        """min x / max x (53), ``(S + 1,)``."""
        with np.errstate(invalid="ignore"):
            return self.least / self.greatest

    @property
    def jain(self) -> Floats:
        """Jain's index (sum x)^2 / (N sum x^2), ``(S + 1,)``."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.total**2 / (self.sources * self.squares)

    def steps_to_fairness(self, epsilon: float) -> int | None:
        """The first step that is epsilon-fair (53), or None."""
        return first(self.fairness >= 1 - epsilon)

    @property
    def diverged(self) -> int | None:
        """The first step whose rates are not finite, or None."""
        return first(~np.isfinite(self.squares))


def first(holds: npt.NDArray[np.bool_]) -> int | None:
    """The first true index, or None."""
    return int(np.argmax(holds)) if holds.any() else None


def iterate(
    network: Network,
    law: Law,
    price: Price,
    start: npt.ArrayLike,
    steps: int,
    *,
    watch: Sequence[int] | None = None,
    jitter: int = 0,
    seed: int = 1,
) -> Trajectory:
    """Iterates ``steps`` steps from the rates ``start``, one for all sources or one for each.

    ``watch`` lists sources whose rates are stored; by default the first ten. With ``jitter``,
    feedback is delayed by 0 to ``jitter`` additional steps, drawn for each source and step from the
    source's own stream of ``seed``; the reference rate is always the one to which the feedback
    belongs.

    Raises :class:`ModelError` for invalid parameters, and for initial rates that leave a resource
    without arrivals. Warns (:class:`~marqueue.theory.mkc.laws.StabilityWarning`) of an unstable
    EMKC.
    """
    watched = tuple(range(min(network.sources, 10))) if watch is None else tuple(watch)
    for i in watched:
        if not 0 <= i < network.sources:
            raise ModelError(f"watch: got source {i}, expected 0 to {network.sources - 1}")
    limits = (
        ("steps", steps, MOST_STEPS),
        ("jitter", jitter, LONGEST_DELAY),
        ("seed", seed, 2**64 - 1),
    )
    for name, value, most in limits:
        if not 0 <= value <= most:
            raise ModelError(f"{name}: got {value}, expected 0 to {most}")
    longest = int(network.delay.max()) + jitter
    on_their_way = network.sources * longest if jitter else int(network.delay.sum())
    if on_their_way > MOST_RATES:
        raise ModelError(
            f"delay: got {on_their_way} rates of {network.sources} sources in transit, expected "
            f"at most {MOST_RATES:g}"
        )
    if isinstance(law, Mkc) and isinstance(price, Loss):
        law.warn(network.sources)
    state = _start(network, law, start, jitter, seed)
    return _steps(state, network, price, steps, watched)


def _start(
    network: Network, law: Law, start: npt.ArrayLike, jitter: int, seed: int
) -> _core.RateMap:
    rates = one_each("start", start, network.sources)
    for i in np.flatnonzero(rates < 0)[:1]:
        raise ModelError(f"start[{i}]: got {rates[i]:g}, expected at least 0")
    for j in np.flatnonzero(network.arrivals(rates) <= 0)[:1]:
        raise ModelError(
            f"start: nothing arrives at resource {j}, expected some source to send there"
        )
    return _core.RateMap(
        law.name,
        law.parameters(network.sources),
        rates,
        network.delay.astype(np.uint32),
        network.edges,
        network.resource.astype(np.uint32),
        network.forward.astype(np.uint32),
        network.resources,
        jitter,
        seed,
    )


def _steps(
    state: _core.RateMap, network: Network, price: Price, steps: int, watched: tuple[int, ...]
) -> Trajectory:
    chosen = np.array(watched, dtype=np.int64)
    routers = price.routers()
    everyone = state.rates(np.arange(network.sources))
    rates = np.empty((steps + 1, len(watched)))
    arrivals = np.empty((steps + 1, network.resources))
    prices = np.empty_like(arrivals)
    figures = np.empty((4, steps + 1))
    figures[:, 0] = everyone.sum(), everyone @ everyone, everyone.min(), everyone.max()
    rates[0], arrivals[0] = everyone[chosen], state.arrivals()
    prices[0] = routers(arrivals[0])
    with np.errstate(invalid="ignore", over="ignore"):
        for n in range(1, steps + 1):
            arrivals[n], *figures[:, n] = state.step(prices[n - 1])
            rates[n] = state.rates(chosen)
            prices[n] = routers(arrivals[n])
    total, squares, least, greatest = figures
    return Trajectory(
        watched, rates, arrivals, prices, total, squares, least, greatest, network.sources
    )
