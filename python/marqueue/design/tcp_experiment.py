"""The packets of designs for TCP over one link: N long Reno flows with ECN over a dumbbell with the
model's round trip, ns-2's TCP, packets of 1000 bytes (only packets/s matter to the models).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from marqueue.design.delayed_system import DelayedSetting
from marqueue.design.packets import Experiment

PACKET_BYTES = 1000
#: How far beyond the boundary: of few flows chance blurs it.
BEYOND = 4.0
#: Seconds. Slow start drives an integrator to a probability that slow gains take minutes to come
#: down from.
SLOW_START, LEAST = 300.0, 300.0


class OverTcp(DelayedSetting):
    """A setting of an AQM on one link with N like flows of TCP."""

    capacity: float
    flows: float
    rtt: float

    @property
    @abstractmethod
    def aqm(self) -> dict[str, Any]:
        """The AQM as a scenario has it."""

    @property
    @abstractmethod
    def settled_queue(self) -> float:
        """Packets at the equilibrium; the round trip includes them."""

    def experiment(self) -> Experiment:
        """As packets."""
        propagation = self.rtt - self.settled_queue / self.capacity
        # No packet is to be lost: twice what windows hold at the equilibrium, and twice its queue.
        room = math.ceil(2 * (self.rtt * self.capacity + self.settled_queue))
        parts = {
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{propagation:.9f} s"],
                # Access links have no queue of their own to speak of.
                "access": {"rate": "100 Gbit/s", "delay": f"{propagation / 8:.9f} s"},
                "bottleneck": {
                    "rate": f"{self.capacity * 8 * PACKET_BYTES:.0f} bit/s",
                    "delay": f"{propagation / 8:.9f} s",
                    "buffer": f"{room} packets",
                    "packet": f"{PACKET_BYTES} B",
                    "signal": "ecn",
                    "aqm": self.aqm,
                },
            },
            "transport": {
                "default": {"preset": "ns2", "ecn": True, "segment": f"{PACKET_BYTES} B"}
            },
            "traffic": [{"name": "long", "kind": "tcp", "count": max(round(self.flows), 1)}],
        }
        return Experiment(parts, "bottleneck", self.capacity, BEYOND, SLOW_START, LEAST)
