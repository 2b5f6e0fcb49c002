"""TCP with a queue whose AQM marks at random: the plant of Hollot, Misra, Towsley and Gong.

Hollot, Misra, Towsley and Gong, "A control theoretic analysis of RED", IEEE INFOCOM 2001, and "On
designing improved controllers for AQM routers supporting TCP flows", IEEE INFOCOM 2001:

    W' = 1/R(t) - W(t) W(t-R) p(t-R) / (2 R(t-R)),   q' = N W / R(t) - C,   R = q/C + Tp

around W = RC/N, p = 2/W^2 (the delay of arguments stays at its equilibrium, as there):

    dW' = -N/(R^2 C) (dW + dW(t-R)) - (dq - dq(t-R))/(R^2 C) - R C^2/(2 N^2) dp(t-R)
    dq' = N/R dW - dq/R

For windows of many packets the terms in dq of the first line cancel, and the paper's plant is left,

    P(s) = (C^2/2N) e^(-sR) / ((s + 2N/(R^2 C)) (s + 1/R)),

on which its propositions rest. The exact boundary and the margins here are of the whole linear
form, without that step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marqueue.design.delayed_system import Nonlinear
from marqueue.design.design import Value, positive
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.linear.characteristic import Linear
from marqueue.theory.linear.margins import Loop

ASSUMPTIONS = (
    "N long TCP flows with one round trip, that at the equilibrium, queueing included",
    "acknowledgements are not delayed; no slow start, no timeouts; marks are at random",
    "the queue is neither empty nor full",
)


@dataclass(frozen=True)
class Controller:
    """An AQM of one state: v' = a v + b (q - q_0), p = (u_0 + c v + e (q - q_0))^power, where u_0
    is the base at the equilibrium. A power of one is linear; PI2 squares."""

    a: float
    b: float
    c: float
    e: float = 0.0
    power: float = 1.0

    def base(self, marked: float) -> float:
        """u_0, for a share of marked packets."""
        return float(marked ** (1 / self.power))

    def slope(self, marked: float) -> float:
        """dp/du at that share."""
        return float(self.power * marked ** (1 - 1 / self.power))


@dataclass(frozen=True)
class Plant:
    """N equal TCP flows over one link, at an equilibrium."""

    capacity: float
    """C, packets/s."""
    flows: float
    """N."""
    rtt: float
    """R, s, queueing included."""

    def __post_init__(self) -> None:
        positive(**{name: getattr(self, name) for name in ("capacity", "flows", "rtt")})

    @property
    def window(self) -> float:
        """W, packets."""
        return self.rtt * self.capacity / self.flows

    @property
    def marked(self) -> float:
        """p, the share of marked packets; the model can give values above 1."""
        return 2 / self.window**2

    @property
    def corner(self) -> float:
        """2N/(R^2 C), 1/s: how fast windows follow."""
        return 2 * self.flows / (self.rtt**2 * self.capacity)

    @property
    def size(self) -> float:
        """(RC)^3/(2N)^2, packets: P(0), the queue for each unit of p."""
        return (self.rtt * self.capacity) ** 3 / (2 * self.flows) ** 2

    def require_equilibrium(self) -> None:
        """Raises :class:`ModelError` if p is not below 1."""
        if self.marked >= 1:
            raise ModelError(
                f"flows: the model's assumption p < 1 fails: p = {self.marked:.4g} at windows of "
                f"{self.window:.3g} packets, expected windows above 1.414: fewer flows, a longer "
                "round trip or more capacity"
            )

    @property
    def equilibrium(self) -> dict[str, Value]:
        """The equilibrium with units, for output."""
        return {"marked": Value(self.marked), "window": Value(self.window, "packets")}

    def close(self, controller: Controller) -> Loop:
        """The closed loop with the states W, q and v, cut where marks reach the flows."""
        self.require_equilibrium()
        n, c, r = self.flows, self.capacity, self.rtt
        now, ago = np.zeros((3, 3)), np.zeros((3, 3))
        now[0, 0] = ago[0, 0] = -n / (r**2 * c)
        now[0, 1], ago[0, 1] = -1 / (r**2 * c), 1 / (r**2 * c)
        now[1, 0], now[1, 1] = n / r, -1 / r
        now[2] = 0.0, controller.b, controller.a
        marked = ago.copy()
        response = controller.slope(self.marked) * r * c**2 / (2 * n**2)
        marked[0] -= response * np.array([0.0, controller.e, controller.c])
        return Loop(Linear(now, [(r, marked)]), Linear(now, [(r, ago)]))

    def fluid(self, controller: Controller, queue: float) -> Nonlinear:
        """The nonlinear equations of W, q and v; ``queue`` is that at the equilibrium, packets."""
        self.require_equilibrium()
        n, c, base = self.flows, self.capacity, controller.base(self.marked)
        propagation = self.rtt - queue / c
        if propagation < 0:
            raise ModelError(
                f"rtt: got {self.rtt:g} s, expected at least the queueing delay, {queue / c:.4g} s"
            )

        def f(_: float, y: Floats, delayed: Floats) -> Floats:
            (w, q, v), (w_ago, q_ago, v_ago) = y, delayed[0]
            u = base + controller.c * v_ago + controller.e * (q_ago - queue)
            p = min(max(u, 0.0), 1.0) ** controller.power
            r, r_ago = max(q, 0.0) / c + propagation, max(q_ago, 0.0) / c + propagation
            spare = n * w / r - c
            return np.array(
                [
                    1 / r - w * w_ago * p / (2 * r_ago),
                    spare if q > 0 else max(spare, 0.0),
                    controller.a * v + controller.b * (q - queue),
                ]
            )

        floor = np.array([0.0, 0.0, -math.inf])
        return Nonlinear(f, [self.rtt], np.array([self.window, queue, 0.0]), floor)
