"""REM: the gains gamma and alpha, by its equivalence to a PI controller of the price.

REM (Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001), every T seconds,

    mu <- mu + gamma (q[k+1] - (1 - alpha) q[k] - alpha q_ref),   p = 1 - phi^(-mu),

is in continuous time mu' = gamma (q' + alpha/T (q - q_ref)), and around its equilibrium dp = (1 -
p) log(phi) dmu: a PI controller with the zero z = alpha/T and the gain K = (1 - p) log(phi) gamma
alpha/T. Proposition 2 of Hollot et al. 2001 (PI) therefore applies: alpha sets z to the corner of
TCP, gamma sets the gain. The equivalence is derived here; the paper of REM has no rule for its
gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from marqueue.design import pi
from marqueue.design.delayed_system import Nonlinear
from marqueue.design.design import Design, Rule, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp import ASSUMPTIONS, Plant
from marqueue.design.tcp_experiment import OverTcp
from marqueue.errors import ModelError
from marqueue.theory.linear.margins import Loop

#: Defaults of the scenario's REM.
PHI, PERIOD = 1.001, 0.002


@dataclass(frozen=True)
class Rem(OverTcp):
    """REM on a link."""

    capacity: float
    flows: float
    rtt: float
    gamma: float
    """Gain of the price, 1/packet."""
    alpha: float
    """Weight of the queue relative to its change."""
    phi: float
    period: float
    """T, s."""
    q_ref: float
    """packets."""

    @property
    def as_pi(self) -> pi.Pi:
        """The equivalent PI controller around the equilibrium."""
        marked = Plant(self.capacity, self.flows, self.rtt).marked
        k = (1 - marked) * math.log(self.phi) * self.gamma * self.alpha / self.period
        zero = self.alpha / self.period
        return pi.Pi(self.capacity, self.flows, self.rtt, k, zero, self.q_ref)

    @property
    def loop(self) -> Loop:
        """The linear model."""
        return self.as_pi.loop

    @property
    def fluid(self) -> Nonlinear:
        """The nonlinear model of TCP, with a probability that is linear in the price."""
        return self.as_pi.fluid

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return {
            "name": "rem",
            "gamma": self.gamma,
            "alpha": self.alpha,
            "phi": self.phi,
            "period": f"{self.period:.9f} s",
            "q_ref": f"{self.q_ref:.6f} packets",
        }

    @property
    def settled_queue(self) -> float:
        """The queue at the equilibrium, packets."""
        return self.q_ref

    def guaranteed(self) -> bool:
        """Whether the theorem for the equivalent PI controller holds."""
        return self.as_pi.guaranteed()


def design(
    capacity: float,
    flows: float,
    rtt: float,
    phase: float = pi.PHASE,
    q_ref: float = 50.0,
    phi: float = PHI,
    period: float = PERIOD,
) -> Design:
    """gamma and alpha for the given phi and period T (s); ``capacity`` in packets/s, ``rtt`` in s.

    Raises :class:`ModelError` outside the assumptions.
    """
    positive(period=period)
    if not phi > 1:
        raise ModelError(f"phi: got {phi:g}, expected above 1")
    as_pi = pi.design(capacity, flows, rtt, phase, q_ref, 1 / period)
    plant = as_pi.setting.plant
    per_gamma = (1 - plant.marked) * math.log(phi) * plant.corner
    gammas = tuple(
        Rule(f"{rule.theorem}; REM as PI", f"{rule.source}; derived here",
             rule.bound / per_gamma if rule.bound is not None else None, rule.kind)
        for rule in as_pi.rules
    )  # fmt: skip
    alpha = plant.corner * period
    gamma = as_pi.chosen / per_gamma
    setting = Rem(capacity, flows, rtt, gamma, alpha, phi, period, q_ref)
    return Design(
        controller="rem",
        setting=setting,
        of="gamma",
        unit="1/packet",
        side="below",
        rules=gammas,
        configure={
            "gamma": Value(gamma),
            "alpha": Value(alpha),
            "phi": Value(phi),
            "period": Value(period, "s"),
            "q_ref": Value(q_ref, "packets"),
        },
        equilibrium=plant.equilibrium
        | {"price": Value(-math.log1p(-plant.marked) / math.log(phi))},
        assumptions=(*ASSUMPTIONS, "the price is in continuous time and follows small changes"),
        plane=rtt_by_flows(setting),
    )
