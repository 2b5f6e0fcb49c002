"""Sources and resources: routes, and the delays of feedback.

Time is counted in control steps. A resource j sees the rate that source i set F_ij steps ago
(forward delay), and its price reaches the source B_ij steps after it was set (backward delay). F_ij
+ B_ij = D_i for every resource of a route (section 2). In the paper's convention D = 1 is a price
that answers the latest rate; therefore D_i >= 1, and 0 <= F_ij < D_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from marqueue.errors import ModelError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


#: Largest delay, steps: a memory limit.
LONGEST_DELAY = 100_000


@dataclass(frozen=True)
class Network:
    """N sources, M resources, routes and delays; made by :meth:`of` or :meth:`single`."""

    capacity: Floats
    """C, ``(M,)``, in the unit of all rates."""
    delay: Integers
    """D, ``(N,)``: steps from a rate to the price that answers it."""
    edges: Integers
    """``(N + 1,)``: the hops of source i are ``edges[i]`` to ``edges[i + 1]``."""
    resource: Integers
    """``(hops,)``."""
    forward: Integers
    """F, ``(hops,)``, steps."""

    @classmethod
    def of(
        cls,
        capacity: npt.ArrayLike,
        routes: Sequence[Sequence[int]],
        delay: npt.ArrayLike = 1,
        forward: int | Sequence[int | Sequence[int]] = 0,
    ) -> Network:
        """A network with any routes.

        ``routes[i]`` lists the resources of source i (0 to M - 1). ``delay`` is D, one for all
        sources or one for each. ``forward`` is F: one for all, one for each source, or for each
        source a list with one value per hop.

        Raises :class:`ModelError` with place, value and what was expected: a capacity not above 0,
        a source without a route, an unknown or unused resource, a delay below one step, a forward
        delay that is negative or not below D.
        """
        capacities = np.atleast_1d(np.asarray(capacity, dtype=float))
        _check_capacities(capacities)
        if not len(routes):
            raise ModelError("routes: got none, expected one a source")
        for i, route in enumerate(routes):
            _check_route(i, route, len(capacities))
        lengths = [len(route) for route in routes]
        resource = np.array([j for route in routes for j in route], dtype=np.int64)
        unused = np.setdiff1d(np.arange(len(capacities)), resource)
        if len(unused):
            raise ModelError(
                f"capacity[{unused[0]}]: the resource is on no route, expected one over it"
            )
        delays = _delays(delay, len(routes))
        forwards = _forward(forward, lengths)
        network = cls(
            capacities, delays, np.concatenate([[0], np.cumsum(lengths)]), resource, forwards
        )
        network._check_forward()
        return network

    @classmethod
    def single(
        cls,
        capacity: float,
        sources: int,
        delay: npt.ArrayLike = 1,
        forward: int | Sequence[int] = 0,
    ) -> Network:
        """N sources on one resource. Raises as :meth:`of`."""
        if sources < 1:
            raise ModelError(f"sources: got {sources}, expected at least 1")
        return cls.of([capacity], [[0]] * sources, delay, forward)

    def _check_forward(self) -> None:
        late = (self.forward < 0) | (self.forward >= self.delay[self.source])
        if late.any():
            hop = int(np.argmax(late))
            i = int(self.source[hop])
            raise ModelError(
                f"forward[{i}]: got {self.forward[hop]}, expected 0 to {self.delay[i] - 1} steps, "
                f"less than the source's delay"
            )

    @property
    def sources(self) -> int:
        """N."""
        return len(self.delay)

    @property
    def resources(self) -> int:
        """M."""
        return len(self.capacity)

    @cached_property
    def source(self) -> Integers:
        """``(hops,)``: the source of each hop."""
        return np.repeat(np.arange(self.sources), np.diff(self.edges))

    @cached_property
    def backward(self) -> Integers:
        """B, ``(hops,)``, steps."""
        return self.delay[self.source] - self.forward

    @cached_property
    def hops(self) -> Floats:
        """M_i, ``(N,)``: length of each route."""
        return np.diff(self.edges).astype(float)

    @cached_property
    def usage(self) -> csr_array:
        """``(M, N)``: 1 where a source crosses a resource, else 0."""
        ones = np.ones(len(self.resource))
        return csr_array((ones, (self.resource, self.source)), shape=(self.resources, self.sources))

    def arrivals(self, rates: Floats) -> Floats:
        """X, ``(M,)``: arrival rate of each resource at constant rates ``(N,)``."""
        arriving: Floats = self.usage @ rates
        return arriving


def one_each(name: str, given: Any, count: int) -> Floats:
    """``given`` for each of ``count`` sources: one value for all, or one for each.

    Raises :class:`ModelError` if there are neither one nor ``count`` values, or if one is not a
    finite number.
    """
    try:
        values = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        raise ModelError(f"{name}: got {given!r}, expected numbers") from None
    if values.ndim != 1 or len(values) not in (1, count):
        raise ModelError(
            f"{name}: got {values.size} values, expected one, or {count}, one a source"
        )
    for i, value in enumerate(values):
        if not np.isfinite(value):
            raise ModelError(f"{name}[{i}]: got {value:g}, expected a finite number")
    return np.broadcast_to(values, count).copy()


def _check_capacities(capacities: Floats) -> None:
    for j, c in enumerate(capacities):
        if not (np.isfinite(c) and c > 0):
            raise ModelError(f"capacity[{j}]: got {c:g}, expected more than 0")


def _check_route(i: int, route: Sequence[int], resources: int) -> None:
    if not len(route):
        raise ModelError(f"routes[{i}]: got no resource, expected at least one")
    for j in route:
        if not 0 <= j < resources:
            raise ModelError(f"routes[{i}]: got resource {j}, expected 0 to {resources - 1}")
    if len(set(route)) < len(route):
        raise ModelError(f"routes[{i}]: got a resource twice, expected each once")


def _delays(given: npt.ArrayLike, sources: int) -> Integers:
    delays = one_each("delay", given, sources)
    for i in np.flatnonzero((delays < 1) | (delays > LONGEST_DELAY) | (delays % 1 != 0))[:1]:
        raise ModelError(
            f"delay[{i}]: got {delays[i]:.15g}, expected a whole number of steps from 1 to "
            f"{LONGEST_DELAY}"
        )
    return delays.astype(np.int64)


def _forward(given: int | Sequence[Any], lengths: Sequence[int]) -> Integers:
    """F of each hop; values beyond the longest delay are refused later."""
    if isinstance(given, int | np.integer):
        given = [int(given)] * len(lengths)
    if len(given) != len(lengths):
        raise ModelError(f"forward: got {len(given)} values, expected one, or {len(lengths)}")
    flat: list[int] = []
    for i, (each, length) in enumerate(zip(given, lengths, strict=True)):
        of_hops = [each] * length if isinstance(each, int | np.integer) else list(each)
        if len(of_hops) != length:
            raise ModelError(
                f"forward[{i}]: got {len(of_hops)} values, expected {length}, one a hop"
            )
        flat += [max(-1, min(int(steps), LONGEST_DELAY)) for steps in of_hops]
    return np.array(flat, dtype=np.int64)
