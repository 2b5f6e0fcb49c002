"""Packet simulations of designs for TCP over one link: N long Reno flows with ECN over a dumbbell
with the model's round trip. TCP is that of ns-2; packets have 1000 bytes (the models only use
packets/s).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from marqueue.design.delayed_system import DelayedSetting
from marqueue.design.packets import Experiment

PACKET_BYTES = 1000
#: Factor beyond the boundary; few flows blur it by randomness.
BEYOND = 4.0
#: Seconds. After slow start, an integrator with a slow gain needs minutes to settle.
SLOW_START, LEAST = 300.0, 300.0
#: The link of the AQM.
LINK = "bottleneck"


def reno_over_a_dumbbell(
    capacity: float, flows: float, propagation: float, room: float, aqm: Mapping[str, Any]
) -> dict[str, Any]:
    """The topology, transport and traffic of a scenario; ``capacity`` in packets/s, ``propagation``
    the round trip without queueing in s, ``room`` the buffer in packets."""
    return {
        "topology": {
            "kind": "dumbbell",
            "rtts": [f"{propagation:.9f} s"],
            # Fast enough that access links have no queue.
            "access": {"rate": "100 Gbit/s", "delay": f"{propagation / 8:.9f} s"},
            LINK: {
                "rate": f"{capacity * 8 * PACKET_BYTES:.0f} bit/s",
                "delay": f"{propagation / 8:.9f} s",
                "buffer": f"{math.ceil(room)} packets",
                "packet": f"{PACKET_BYTES} B",
                "signal": "ecn",
                "aqm": dict(aqm),
            },
        },
        "transport": {"default": {"preset": "ns2", "ecn": True, "segment": f"{PACKET_BYTES} B"}},
        "traffic": [{"name": "long", "kind": "tcp", "count": max(round(flows), 1)}],
    }


class OverTcp(DelayedSetting):
    """A setting of an AQM on one link with N equal flows of TCP."""

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
        """The queue at the equilibrium, packets; the round trip includes its delay."""

    def experiment(self) -> Experiment:
        """The packet simulation."""
        propagation = self.rtt - self.settled_queue / self.capacity
        # Large enough to avoid losses: twice the windows and twice the queue at the equilibrium.
        room = 2 * (self.rtt * self.capacity + self.settled_queue)
        parts = reno_over_a_dumbbell(self.capacity, self.flows, propagation, room, self.aqm)
        return Experiment(parts, LINK, self.capacity, BEYOND, SLOW_START, LEAST)
