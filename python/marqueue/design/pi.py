"""PI: the gains a and b.

Hollot, Misra, Towsley and Gong, "On designing improved controllers for AQM routers supporting TCP
flows", IEEE INFOCOM 2001, Proposition 2 and section V: C(s) = K (s/z + 1) / s with the zero at the
corner of TCP, z = 2N/(R^2 C), and

    K = w_g z |j w_g + 1/R| 2N/C^2,   w_g = theta / R                 (|P C| = 1 at w_g)

is stable for at least N flows and round trips of at most R, if theta + arctan(theta) < pi/2
(theta < 0.86); the phase margin is pi/2 - theta - arctan(theta). Sampled every T by the bilinear
rule, p <- p + a (q[k+1] - q_ref) - b (q[k] - q_ref) with a = K/z + K T/2, b = K/z - K T/2. The
paper's own example (3750 packets/s, 60 flows, 0.246 s) has w_g = z, a margin of 75 degrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from marqueue.design.delayed_system import Nonlinear
from marqueue.design.design import Design, Rule, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp import ASSUMPTIONS, Controller, Plant
from marqueue.design.tcp_experiment import OverTcp
from marqueue.errors import ModelError
from marqueue.theory.linear.margins import Loop

SOURCE = "Hollot, Misra, Towsley and Gong 2001 (PI)"
#: Phase margin of the paper's example, degrees.
PHASE = 75.0
#: Default of ``w`` in the paper and in scenarios, 1/s.
SAMPLING = 170.0
#: The least number of samples per round trip for which continuous time is assumed.
LOOKS = 4


@dataclass(frozen=True)
class Pi(OverTcp):
    """A PI controller with its gain and zero, on a link."""

    capacity: float
    flows: float
    rtt: float
    gain: float
    """K, 1/(packet s)."""
    zero: float
    """z, 1/s."""
    q_ref: float
    """packets."""
    sampling: float = SAMPLING
    """w, 1/s."""

    @property
    def plant(self) -> Plant:
        """The model of TCP and the queue."""
        return Plant(self.capacity, self.flows, self.rtt)

    @property
    def _controller(self) -> Controller:
        return Controller(a=0.0, b=self.gain, c=1.0, e=self.gain / self.zero)

    @property
    def loop(self) -> Loop:
        """The linear model."""
        return self.plant.close(self._controller)

    @property
    def fluid(self) -> Nonlinear:
        """The nonlinear model with this reference."""
        return self.plant.fluid(self._controller, self.q_ref)

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        a, b = sampled(self.gain, self.zero, self.sampling)
        return {
            "name": "pi",
            "a": a,
            "b": b,
            "w": f"{self.sampling:.9g} /s",
            "q_ref": f"{self.q_ref:.6f} packets",
        }

    @property
    def settled_queue(self) -> float:
        """The queue at the equilibrium, packets."""
        return self.q_ref

    def guaranteed(self) -> bool:
        """Whether Proposition 2 holds for this gain and zero at N and R."""
        plant = self.plant
        return plant.marked < 1 and self.zero <= plant.corner * (1 + 1e-9) and self.gain <= gain(
            plant, theta(0.0)
        )  # fmt: skip


def theta(phase: float) -> float:
    """theta = w_g R for a phase margin in degrees. Raises :class:`ModelError`."""
    if not 0 <= phase < 90:
        raise ModelError(f"phase-margin: got {phase:g}, expected 0 to less than 90 degrees")
    left = math.pi / 2 - math.radians(phase)
    return float(brentq(lambda x: x + math.atan(x) - left, 0.0, 1.0))


def gain(plant: Plant, at: float) -> float:
    """K of Proposition 2, 1/(packet s), with the crossover at ``at`` / R."""
    return at / plant.rtt * math.hypot(1.0, at) / plant.size


def sampled(k: float, zero: float, frequency: float) -> tuple[float, float]:
    """The sampled gains a and b, 1/packet."""
    return k / zero + k / (2 * frequency), k / zero - k / (2 * frequency)


def design(
    capacity: float,
    flows: float,
    rtt: float,
    phase: float = PHASE,
    q_ref: float = 50.0,
    frequency: float = SAMPLING,
) -> Design:
    """a and b for at least ``flows`` and round trips of at most ``rtt``, s, queueing included.

    Raises :class:`ModelError` outside the assumptions.
    """
    plant = Plant(capacity, flows, rtt)
    positive(q_ref=q_ref, sampling=frequency)
    plant.require_equilibrium()
    if frequency * rtt < LOOKS:
        raise ModelError(
            f"sampling: got {frequency:g} 1/s, expected at least {LOOKS / rtt:.4g} 1/s: the design "
            "assumes a controller in continuous time"
        )
    k = gain(plant, theta(phase))
    a, b = sampled(k, plant.corner, frequency)
    setting = Pi(capacity, flows, rtt, k, plant.corner, q_ref, frequency)
    setting.fluid  # noqa: B018 - refuses a reference that takes longer than the round trip
    return Design(
        controller="pi",
        setting=setting,
        of="gain",
        unit="1/(packet s)",
        side="below",
        rules=(
            Rule(f"Proposition 2, phase margin {phase:g} degrees", SOURCE, k, "sufficient"),
            # Of the plant for windows of many packets; the boundary is of the whole linear form.
            Rule("Proposition 2, no margin left", SOURCE, gain(plant, theta(0.0)), "approximate"),
        ),
        configure={
            "a": Value(a, "1/packet"),
            "b": Value(b, "1/packet"),
            "w": Value(frequency, "1/s"),
            "q_ref": Value(q_ref, "packets"),
        },
        equilibrium=plant.equilibrium | {"zero": Value(plant.corner, "1/s")},
        assumptions=(*ASSUMPTIONS, "the controller is in continuous time"),
        plane=rtt_by_flows(setting),
    )
