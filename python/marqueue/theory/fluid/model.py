"""The fluid model of a network of queues and classes of like flows.

The equations are in Rust (``crates/theory/src/fluid``), written once for plain numbers and for
numbers that carry a derivative, so that what is integrated is what is linearized. See ``model.rs``
there for the equations and their assumptions, ``law.rs`` for the laws of sources, ``aqm/`` for the
AQMs; each names its paper and equation.

A description has base units: packets, seconds, packets/s. Packets of a link are those of the usual
size on it::

    {
        "links": [
            {
                "name": "bottleneck",
                "capacity": 1250.0,           # packets/s
                "buffer": 100.0,              # packets; None: never overflows
                "signal": "ecn",              # or "drop": marks are losses
                "aqm": {"name": "avq", "gamma": 0.98, "alpha": 0.15, "initial": 1.0},
                "schedule": [[60.0, 625.0]],  # optional: later capacities
                "queue": 0.0,                 # optional: at the beginning, packets
            }
        ],
        "classes": [
            {
                "name": "long",
                "count": 60.0,
                "law": {"name": "reno", "decrease": 0.5, "max_window": 1e9},
                "rtt": 0.08,                  # s, without queueing
                "route": [{"link": 0, "before": 0.0, "size": 1.0, "density": 1.0}],
                "initial": 1.0,               # window (packets) or rate (packets/s) at the start
                "start": 0.0, "jitter": 0.0, "stop": None,   # s; optional
            }
        ],
    }

AQMs: ``{"name": "droptail"}``;
``{"name": "red", "curve": {"min_th", "max_th", "max_p", "gentle", "w_q"}, "gaps": "geometric"}``
(the papers' p = curve; "uniform", "wait": as RED spreads its marks);
``{"name": "drq", "curve": {...}}``; ``{"name": "pi", "a", "b", "w", "q_ref"}``;
``{"name": "rem", "gamma", "phi", "alpha", "period", "q_ref"}``;
``{"name": "avq", "gamma", "alpha", "initial"}``; ``{"name": "gkvq", "theta"}``;
``{"name": "mkc", "delta", "share"}``.

Laws: ``reno`` (Hollot, Misra, Towsley and Gong 2001, (1): decrease 1/2; state: window, packets);
``{"name": "constant-rtt", "beta": 2 / 3}`` (AVQ paper, (1); state: rate, packets/s);
``{"name": "drq", "per_ack": 1.0}`` (DRQ paper, (9); rate);
``{"name": "kelly", "kappa", "omega", "interval", "least"}`` and
``{"name": "mkc", "alpha", "beta", "interval", "least"}`` (rates, packets/s).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import marqueue._core as _core
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats

Description = Mapping[str, Any]

TOLERANCE = 1e-6
"""Error of a step relative to a state."""


@dataclass(frozen=True)
class State:
    """A state of a model."""

    name: str
    """Such as ``queue bottleneck`` or ``window long``."""
    unit: str
    lower: float
    """Lower bound: the state rests here while its slope is negative."""
    upper: float
    """Upper bound: the state rests here while its slope is positive."""


@dataclass(frozen=True)
class Jacobian:
    """The linearization of a model at a stationary point. Deviations z of the states obey

    z'(t) = ``now`` z(t) + sum over k of ``then[k]`` z(t - ``lags[k]``).

    Delays that depend on the state contribute nothing, because nothing changes at the point.
    Derivatives are exact (forward-mode differentiation) and ignore bounds; ``free`` is true for
    states that are not at a bound, and :meth:`reduced` drops the others.
    """

    lags: Floats
    """Delays, s, ``(lags,)``, above zero."""
    slopes: Floats
    """Slopes, units of states per second, ``(n,)``: zero for free states at an equilibrium."""
    now: Floats
    """``(n, n)``: of slope i by present state j."""
    then: Floats
    """``(lags, n, n)``: of slope i by state j at each lag."""
    free: npt.NDArray[np.bool_]
    """``(n,)``: states that are not at a bound."""

    def reduced(self) -> Jacobian:
        """The Jacobian of the free states; states at a bound stay there under small deviations."""
        at = np.flatnonzero(self.free)
        now, then = self.now[np.ix_(at, at)], self.then[:, at][:, :, at]
        return Jacobian(self.lags, self.slopes[at], now, then, self.free[at])


@dataclass(frozen=True)
class Observables:
    """Observables of links ``(times, links)`` and of single flows of classes ``(times,
    classes)``."""

    queue: Floats
    """Packets."""
    arrivals: Floats
    """Packets/s."""
    probability: Floats
    """Share of arrivals that the AQM marks or drops."""
    loss: Floats
    """Share of the packets admitted by the AQM that find the buffer full."""
    phi: Floats
    """DRQ's pre-marking probability."""
    price: Floats
    """The price that an MKC router writes into packets."""
    capacity: Floats
    """Packets/s."""
    window: Floats
    """Window of one flow, packets."""
    rate: Floats
    """Rate of one flow, packets/s."""
    rtt: Floats
    """Round-trip time with queueing, s."""
    congestion_signal: Floats
    """Congestion signal that a flow receives: share of its packets of a round-trip time ago that
    were marked or lost."""
    count: Floats
    """Number of active flows."""


@dataclass(frozen=True)
class Solution:
    """The solution of a model over time."""

    times: Floats
    """s, ``(times,)``."""
    states: Floats
    """``(times, n)``."""
    seen: Observables
    steps: int
    """Accepted steps."""
    refused: int
    """Rejected steps."""
    bounds: tuple[tuple[float, int], ...]
    """Times at which a state reached or left a bound, s, with its index."""


class Model:
    """The fluid model of a description.

    Raises :class:`ModelError` with the first invalid value and its place.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        try:
            self._core = _core.FluidModel(json.dumps(description))
        except _core.FluidError as error:
            path, message = error.args
            raise ModelError(f"{path}: {message}" if path else message) from None

    @cached_property
    def states(self) -> tuple[State, ...]:
        """In order: window or rate of each class; then for each link its queue and the AQM's
        states."""
        return tuple(State(*each) for each in self._core.states())

    @cached_property
    def queues(self) -> tuple[int, ...]:
        """Index of the queue of each link; the states of its AQM follow."""
        return tuple(self._core.queues())

    @cached_property
    def start(self) -> Floats:
        """Initial state, ``(n,)``."""
        return self._core.start()

    def lags(self, y: Floats, t: float = 0.0) -> Floats:
        """Delay of each delayed term in a state, s, ``(lags,)``."""
        return self._core.lags(t, np.ascontiguousarray(y, dtype=float))

    def rhs(self, y: Floats, then: Floats, t: float = 0.0) -> Floats:
        """Slopes of all states, ``(n,)``. ``then[k]`` is the state at lag k, ``(lags, n)``. At a
        bound slopes do not point outwards."""
        return self._core.rhs(
            t, np.ascontiguousarray(y, dtype=float), np.ascontiguousarray(then, dtype=float)
        )

    def residual(self, y: Floats, t: float = 0.0) -> Floats:
        """Slopes with ``y`` as the constant history, ``(n,)``: zero at an equilibrium."""
        y = np.asarray(y, dtype=float)
        return self.rhs(y, np.tile(y, (len(self.lags(y, t)), 1)), t)

    def jacobian(self, y: Floats, t: float = 0.0, *, mute: bool = False) -> Jacobian:
        """The linearization at ``y``. With ``mute`` the loops are cut open: links emit constant
        marks, losses and prices."""
        y = np.ascontiguousarray(y, dtype=float)
        free = np.array(
            [s.lower < value < s.upper for s, value in zip(self.states, y, strict=True)], dtype=bool
        )
        return Jacobian(*self._core.jacobian(t, y, mute), free)

    def observe(self, y: Floats, t: float = 0.0) -> Observables:
        """Observables with ``y`` as the constant history, at a single time."""
        return Observables(**self._core.observe(t, np.ascontiguousarray(y, dtype=float)))

    def integrate(
        self,
        times: Floats,
        start: Floats | None = None,
        *,
        tolerance: float = TOLERANCE,
        longest: float = np.inf,
    ) -> Solution:
        """Integrates from 0 to the last of ``times``, s (nonnegative, not decreasing). The initial
        state also holds before 0.

        ``longest`` is the longest step, s. Raises :class:`ModelError` if the solution cannot be
        continued.
        """
        times = np.ascontiguousarray(times, dtype=float)
        check_times(times, tolerance)
        begin = self.start if start is None else np.ascontiguousarray(start, dtype=float)
        try:
            found = self._core.integrate(times, begin, tolerance, longest)
        except ArithmeticError as error:
            raise ModelError(str(error)) from None
        states, steps, refused, bounds = (
            found.pop(name) for name in ("states", "steps", "refused", "bounds")
        )
        return Solution(times, states, Observables(**found), steps, refused, tuple(bounds))


def check_times(times: Floats, tolerance: float) -> None:
    """Raises :class:`ModelError` unless ``times`` and ``tolerance`` are valid."""
    if not (times.ndim == 1 and len(times) and np.isfinite(times).all()):
        raise ModelError("times: got none or not numbers, expected a list of times in s")
    if times[0] < 0 or (np.diff(times) < 0).any():
        raise ModelError("times: expected them not negative and not falling")
    if not 1e-13 < tolerance < 1:
        raise ModelError(f"tolerance: got {tolerance:g}, expected above 1e-13 and below 1")
