"""The fluid model of TCP Reno under DRQ, and its linearization.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, sections III-A and III-C. States are rates x_s of
flows, queues q_i of resources (bits at a link, cycles at a CPU) and pre-marking probabilities phi_i
of RED:

    q_i' = sum of A_is n_s x_s(t - forward delay) - c_i, not below q_i = 0            (7), (8)
    x_s' = M (1 - p) / (N tau^2) - (2/3) x^2 p / (N M)                                (9)
    phi_i = gentle RED of the average of q_i, which follows it at rate eta_i          (10)-(14)
    p_s = u^2 / (1 + u^2),  u_s = sum of A_is phi_i(t - backward delay)               (15)

Round-trip times are constant (assumption A2). The queue of a CPU in bits is its queue in cycles
divided by the mean density of its flows, a constant, as in the simulator. At the equilibrium rates
and prices solve problem P if all prices are below one (conditions C1 and C2, Proposition 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.proportional_fairness import Optimum, proportionally_fair
from marqueue.theory.allocation.resources import Flows, Resource, Sharing
from marqueue.theory.dde import Field, Solution, solve
from marqueue.theory.linear.characteristic import Linear


@dataclass(frozen=True)
class Red:
    """Gentle RED of one queue, thresholds in bits, (10)."""

    lower: float
    """Below this average nothing is marked, bits."""
    upper: float
    """At this average the probability is ``m``, bits; it is one at twice this."""
    m: float
    eta: float
    """Rate at which the average follows the queue: -log(1 - lambda) per sampling interval, 1/s."""

    @classmethod
    def of_packets(
        cls, lower: float, upper: float, m: float, weight: float, packet: float, rate: float
    ) -> Red:
        """RED with thresholds in packets of a given size, and the averaging weight of each packet
        that arrives at ``rate`` bits/s."""
        return cls(lower * packet, upper * packet, m, -math.log1p(-weight) * rate / packet)

    def probability(self, average: Floats) -> Floats:
        """phi at given averages, bits."""
        corners = (self.lower, self.upper, 2 * self.upper)
        return np.asarray(np.interp(average, corners, (0.0, self.m, 1.0)))

    def average(self, probability: float) -> float:
        """The average, bits, at a probability above zero: the inverse of the curve."""
        corners = (self.lower, self.upper, 2 * self.upper)
        return float(np.interp(probability, (0.0, self.m, 1.0), corners))

    def slope(self, probability: float) -> float:
        """The slope of the curve at a probability above zero, 1/bit."""
        if probability < self.m:
            return self.m / (self.upper - self.lower)
        return (1 - self.m) / self.upper

    @property
    def steepest(self) -> float:
        """The larger of the two slopes, 1/bit, which Proposition 2 bounds."""
        return max(self.m / (self.upper - self.lower), (1 - self.m) / self.upper)


@dataclass(frozen=True)
class Reno:
    """Identical TCP Reno flows."""

    name: str
    demands: dict[str, float]
    """As in :class:`marqueue.theory.allocation.resources.Flows`."""
    packet: float
    """M, bits."""
    rtt: float
    """tau, s."""
    count: int = 1
    forward: float = 0.5
    """The part of the round-trip time between sender and resources."""
    per_ack: float = 2.0
    """N: packets acknowledged by one acknowledgement."""

    @property
    def weight(self) -> float:
        """alpha of Proposition 1, bits/s."""
        return math.sqrt(1.5) * self.packet / self.rtt


@dataclass(frozen=True)
class Drq:
    """TCP Reno flows over CPUs and links that all have DRQ, with one RED or one for each."""

    resources: tuple[Resource, ...]
    flows: tuple[Reno, ...]
    red: tuple[Red, ...]

    def __post_init__(self) -> None:
        if len(self.red) != len(self.resources):
            raise ModelError(
                f"red: got {len(self.red)}, expected one for each of {len(self.resources)} "
                "resources"
            )

    @cached_property
    def sharing(self) -> Sharing:
        """The flows and resources of problem P."""
        flows = tuple(Flows(f.name, f.weight, f.demands, f.count) for f in self.flows)
        return Sharing(self.resources, flows)

    @cached_property
    def optimum(self) -> Optimum:
        """The solution of problem P."""
        return proportionally_fair(self.sharing)

    @cached_property
    def density(self) -> Floats:
        """A, resources by flows, cycles/bit or 1."""
        return np.asarray(self.sharing.density.toarray())

    @cached_property
    def mean_density(self) -> Floats:
        """Mean density of the flows at each resource, cycles/bit or 1."""
        crossing = (self.density > 0) @ self.sharing.count
        return np.asarray(self.density @ self.sharing.count / np.maximum(crossing, 1))

    def violations(self) -> tuple[str, ...]:
        """The resources whose price is not below one (conditions C1 and C2)."""
        every = zip(self.resources, self.optimum.prices, strict=True)
        return tuple(resource.name for resource, price in every if price >= 1)

    def _of_flows(self, name: str) -> Floats:
        return np.array([getattr(f, name) for f in self.flows])

    @cached_property
    def delays(self) -> Floats:
        """Forward delays of the flows, then backward delays, s."""
        tau, part = self._of_flows("rtt"), self._of_flows("forward")
        return np.concatenate([part * tau, (1 - part) * tau])

    @cached_property
    def field(self) -> Field:
        """The right side of (7) to (15) for the states x, q and averages in bits, in this order,
        with :attr:`delays`."""
        s, r = len(self.flows), len(self.resources)
        a, count, c = self.density, self.sharing.count, self.sharing.capacity
        packet, tau, n = (self._of_flows(name) for name in ("packet", "rtt", "per_ack"))
        eta = np.array([red.eta for red in self.red])
        flow = np.arange(s)

        def f(_: float, y: Floats, delayed: Floats) -> Floats:
            x, q, average = y[:s], y[s : s + r], y[s + r :]
            phi = np.stack(
                [red.probability(delayed[s:, s + r + i]) for i, red in enumerate(self.red)]
            )
            u = (a * phi).sum(axis=0)
            p = u**2 / (1 + u**2)
            x_dot = packet * (1 - p) / (n * tau**2) - (2 / 3) * x**2 * p / (n * packet)
            spare = a @ (count * delayed[flow, flow]) - c
            q_dot = np.where(q > 0, spare, np.maximum(spare, 0))
            return np.concatenate([x_dot, q_dot, eta * (q / self.mean_density - average)])

        return f

    @cached_property
    def equilibrium(self) -> Floats:
        """The stationary state (Proposition 1); resources that are not full have no queue.

        Raises :class:`ModelError` if a price is not below one: there is no equilibrium.
        """
        for name in self.violations():
            raise ModelError(
                f"{name}: its price is {self.optimum.prices[self.sharing.index[name]]:.3g}, "
                "expected below 1 (conditions C1 and C2): windows would be below 2 packets"
            )
        congested = set(self.optimum.congested)
        average = [
            red.average(price) if resource.name in congested else 0.0
            for resource, red, price in zip(
                self.resources, self.red, self.optimum.prices, strict=True
            )
        ]
        queue = self.mean_density * average
        return np.concatenate([self.optimum.rates, queue, average])

    def run(self, start: Floats, end: float, step: float) -> Solution:
        """Solves the fluid model from a state that is constant before time 0."""
        return solve(self.field, start, list(self.delays), end, step, floor=0.0)

    @property
    def gains(self) -> Floats:
        """Slope of RED at its price times capacity, for each congested resource, 1/s."""
        at = [self.sharing.index[name] for name in self.optimum.congested]
        slopes = np.array([self.red[i].slope(self.optimum.prices[i]) for i in at])
        return slopes * self.sharing.capacity[at] / self.mean_density[at]

    def linear(self, gain: float | Floats) -> Linear:
        """The linearization at the equilibrium, with the given slope of RED times capacity, 1/s, at
        congested resources. States: x, then q and phi of congested resources."""
        return self._linear(gain, damping=0.0)

    def linear_with_queueing(self, gain: float | Floats) -> Linear:
        """The same with round-trip times that grow with queues, so that a longer queue slows
        arrivals: the term Omega of (38), with 1 for each queue on the route."""
        return self._linear(gain, damping=1.0)

    def _linear(self, gain: float | Floats, damping: float) -> Linear:
        self.equilibrium  # noqa: B018 - refuses where there is none
        names = self.optimum.congested
        at = [self.sharing.index[name] for name in names]
        a, c, s, r = self.density[at], self.sharing.capacity[at], len(self.flows), len(at)
        x, u = self.optimum.rates, self.density.T @ self.optimum.prices
        packet, tau, n = (self._of_flows(name) for name in ("packet", "rtt", "per_ack"))
        p = u**2 / (1 + u**2)
        eta = np.array([self.red[i].eta for i in at])
        size = s + 2 * r
        now = np.zeros((size, size))
        now[:s, :s] = np.diag(-4 / 3 * x * p / (n * packet))
        omega = (a * (self.sharing.count * x / tau)) @ (a > 0).T / c
        now[s : s + r, s : s + r] = -damping * omega
        now[s + r :, s : s + r] = np.diag(eta * gain / c)
        now[s + r :, s + r :] = np.diag(-eta)
        # Derivatives of (9) by p, and of (15) by u.
        by_u = -(packet / (n * tau**2) + 2 / 3 * x**2 / (n * packet)) * 2 * u / (1 + u**2) ** 2
        delayed: dict[float, Floats] = {}
        for j in range(s):
            there = delayed.setdefault(float(self.delays[j]), np.zeros((size, size)))
            there[s : s + r, j] += a[:, j] * self.sharing.count[j]
            back = delayed.setdefault(float(self.delays[s + j]), np.zeros((size, size)))
            back[j, s + r :] += by_u[j] * a[:, j]
        return Linear(now, list(delayed.items()))
