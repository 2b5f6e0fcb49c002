"""RED: the weight w_q of its average, or its max_p.

Hollot, Misra, Towsley and Gong, "A control theoretic analysis of RED", IEEE INFOCOM 2001,
Proposition 1: with the slope L = max_p / (max_th - min_th) and the average following the queue at
the rate K = -C log(1 - w_q), RED is stable for at least N flows and round trips of at most R if

    L (RC)^3 / (2N)^2 <= sqrt(w_g^2 / K^2 + 1),   w_g = 0.1 min(2N/(R^2 C), 1/R).

The paper's example (3750 packets/s, 60 flows, 0.246 s, L = 1.86e-4) has K = 0.005, w_q = 1.33e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from marqueue.design.delayed_system import Nonlinear
from marqueue.design.design import Design, Rule, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp import ASSUMPTIONS, Controller, Plant
from marqueue.design.tcp_experiment import OverTcp
from marqueue.errors import ModelError
from marqueue.theory.linear.margins import Loop

SOURCE = "Hollot, Misra, Towsley and Gong 2001 (RED)"


@dataclass(frozen=True)
class Red(OverTcp):
    """RED on a link, at an average between its thresholds."""

    capacity: float
    flows: float
    rtt: float
    min_th: float
    """packets."""
    max_th: float
    max_p: float
    w_q: float

    @property
    def plant(self) -> Plant:
        """The model of TCP and the queue."""
        return Plant(self.capacity, self.flows, self.rtt)

    @property
    def slope(self) -> float:
        """L, 1/packet."""
        return self.max_p / (self.max_th - self.min_th)

    @property
    def filter(self) -> float:
        """K, 1/s."""
        return -self.capacity * math.log1p(-self.w_q)

    @property
    def queue(self) -> float:
        """The queue at the equilibrium, packets.

        Raises :class:`ModelError` if the equilibrium needs more than max_p.
        """
        if self.plant.marked > self.max_p:
            raise ModelError(
                f"max-p: got {self.max_p:.4g}, expected at least p = {self.plant.marked:.4g}, what "
                f"the flows need at windows of {self.plant.window:.3g} packets: the average would "
                "be above max_th, where RED has another slope"
            )
        return self.min_th + self.plant.marked / self.slope

    @property
    def _controller(self) -> Controller:
        return Controller(a=-self.filter, b=self.filter, c=self.slope)

    @property
    def loop(self) -> Loop:
        """The linear model."""
        return self.plant.close(self._controller)

    @property
    def fluid(self) -> Nonlinear:
        """The nonlinear model, with the queue at the equilibrium."""
        return self.plant.fluid(self._controller, self.queue)

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return {
            "name": "red",
            "min_th": f"{self.min_th:.6f} packets",
            "max_th": f"{self.max_th:.6f} packets",
            "max_p": self.max_p,
            "w_q": self.w_q,
        }

    @property
    def settled_queue(self) -> float:
        """The queue at the equilibrium, packets."""
        return self.queue

    def guaranteed(self) -> bool:
        """Whether Proposition 1 holds."""
        steep = self.slope * self.plant.size
        return self.plant.marked < 1 and steep <= math.hypot(corner(self.plant) / self.filter, 1.0)


def corner(plant: Plant) -> float:
    """w_g of Proposition 1, 1/s."""
    return 0.1 * min(plant.corner, 1 / plant.rtt)


def largest_weight(plant: Plant, slope: float) -> float:
    """The largest w_q for which Proposition 1 holds; 1 if it holds for all."""
    steep = slope * plant.size
    if steep <= 1:
        return 1.0
    rate = corner(plant) / math.sqrt(steep**2 - 1)
    return -math.expm1(-rate / plant.capacity)


def steepest(plant: Plant, w_q: float) -> float:
    """The largest slope for which Proposition 1 holds, 1/packet."""
    rate = -plant.capacity * math.log1p(-w_q)
    return math.hypot(corner(plant) / rate, 1.0) / plant.size


def design(
    capacity: float,
    flows: float,
    rtt: float,
    min_th: float,
    max_th: float,
    max_p: float | None = None,
    w_q: float | None = None,
) -> Design:
    """The largest w_q for ``max_p``, or the largest max_p for ``w_q``, whichever is None.

    Raises :class:`ModelError` if not exactly one is None, if thresholds are not increasing, or
    outside the assumptions.
    """
    plant = Plant(capacity, flows, rtt)
    positive(**{"min-th": min_th, "max-th": max_th})
    if not min_th < max_th:
        raise ModelError(f"max-th: got {max_th:g}, expected more than min-th = {min_th:g}")
    plant.require_equilibrium()
    match max_p, w_q:
        case float(), None:
            _fraction("max-p", max_p)
            of, bound = "w_q", largest_weight(plant, max_p / (max_th - min_th))
            setting = Red(capacity, flows, rtt, min_th, max_th, max_p, bound)
        case None, float():
            _fraction("w-q", w_q)
            of, bound = "max_p", min(steepest(plant, w_q) * (max_th - min_th), 1.0)
            setting = Red(capacity, flows, rtt, min_th, max_th, bound, w_q)
        case _:
            got = "both" if max_p is not None else "neither"
            raise ModelError(
                f"max-p, w-q: got {got}, expected one of them: the other one is designed"
            )
    queue = setting.queue
    if bound == 1.0:
        raise ModelError(
            f"{of.replace('_', '-')}: Proposition 1 holds at any value up to 1: there is nothing "
            "to design"
        )
    return Design(
        controller="red",
        setting=setting,
        of=of,
        unit="",
        side="below",
        rules=(Rule("Proposition 1", SOURCE, bound, "sufficient"),),
        configure={
            "min_th": Value(min_th, "packets"),
            "max_th": Value(max_th, "packets"),
            "max_p": Value(setting.max_p),
            "w_q": Value(setting.w_q),
        },
        equilibrium=plant.equilibrium
        | {"queue": Value(queue, "packets"), "filter": Value(setting.filter, "1/s")},
        assumptions=(*ASSUMPTIONS, "the average queue is between min_th and max_th"),
        largest=1 - 1e-12,
        plane=rtt_by_flows(setting),
    )


def _fraction(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ModelError(f"{name}: got {value:g}, expected more than 0 and less than 1")
