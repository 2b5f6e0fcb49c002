"""DRQ: the largest stable slope of its RED, for any network.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, Proposition 2: stable if the steeper slope of RED
times capacity is below psi (32) at every congested resource; see
:mod:`marqueue.theory.drq.stability`. RED that begins at min_th and reaches max_p at max_th, and 1
at twice max_th, meets this bound if

    max_th >= max(min_th + max_p c / psi, (1 - max_p) c / psi).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from marqueue.design.delayed_system import DelayedSetting, Nonlinear
from marqueue.design.design import Design, Plane, Rule, Value
from marqueue.design.packets import Experiment
from marqueue.design.stability_planes import axis
from marqueue.errors import ModelError
from marqueue.scenario import Scenario
from marqueue.theory.drq.fluid import Drq as Network
from marqueue.theory.drq.fluid import Red
from marqueue.theory.drq.stability import bound
from marqueue.theory.linear.margins import Loop

SOURCE = "Shin, Chong and Rhee 2008"
#: Simulated packets: the factor beyond the boundary, and the least warm-up and measured time (s).
#: The factor is large because queueing delay moves the boundary outward by five to nine times
#: (docs/theory/drq.md).
BEYOND, WARMUP, MEASURED = 20.0, 60.0, 100.0


@dataclass(frozen=True)
class Drq(DelayedSetting):
    """A network whose congested resources have RED with one slope times capacity."""

    network: Network
    gain: float
    """Slope times capacity, 1/s."""
    stretch: float = 1.0
    """Factor on all round trips."""
    scenario: Scenario | None = None
    """The scenario of the network; needed for packets."""

    @property
    def _stretched(self) -> Network:
        if self.stretch == 1.0:
            return self.network
        flows = tuple(replace(f, rtt=f.rtt * self.stretch) for f in self.network.flows)
        return replace(self.network, flows=flows)

    @property
    def loop(self) -> Loop:
        """The loop of (9) to (15) with constant round trips, cut where RED measures its queues."""
        network = self._stretched
        return Loop(network.linear(self.gain), network.linear(0.0))

    @property
    def fluid(self) -> Nonlinear:
        """The model with RED of this slope, starting at an empty queue."""
        network = self._stretched
        network.equilibrium  # noqa: B018 - refuses where there is none
        red = list(network.red)
        for i, sloped in self._red.items():
            red[i] = sloped
        model = replace(network, red=tuple(red))
        return Nonlinear(model.field, list(model.delays), model.equilibrium)

    @property
    def _red(self) -> dict[int, Red]:
        """RED of this slope at each congested resource, from an empty queue to twice its price."""
        network, found = self.network, {}
        for name in network.optimum.congested:
            i = network.sharing.index[name]
            slope = self.gain * network.mean_density[i] / network.sharing.capacity[i]
            m = min(1.0, 2 * float(network.optimum.prices[i]))
            found[i] = Red(0.0, m / slope, m, network.red[i].eta)
        return found

    def experiment(self) -> Experiment:
        """The packet simulation: the scenario with RED of this slope, and buffers of four times the
        queue at its price.

        The model's round trips exclude queueing delay; those of packets include it.
        """
        if self.scenario is None:
            raise ModelError("packets: got a network, expected a scenario that packets can have")
        topology = self.scenario.to_dict()["topology"]
        packet = max(flows.packet for flows in self.network.flows)
        for i, red in self._red.items():
            queue = _queue(topology, self.network.resources[i].name)
            given = queue["aqm"] if isinstance(queue["aqm"], dict) else {"name": queue["aqm"]}
            th = red.upper / packet
            queue["aqm"] = given | {"min_th": "0 packets", "max_th": f"{th:.9g} packets"}
            queue["aqm"]["max_p"] = red.m
            queue["buffer"] = f"{max(math.ceil(2 * th), 1)} packets"
        given = self.scenario.to_dict()
        parts = {name: given[name] for name in ("transport", "traffic")} | {"topology": topology}
        prices = self.network.optimum.prices
        dearest = self.network.resources[int(prices.argmax())].name
        load = float(self.network.optimum.rates @ self.network.sharing.count) / packet
        return Experiment(parts, dearest, load, BEYOND, WARMUP, MEASURED)

    def guaranteed(self) -> bool:
        """Whether Proposition 2 holds."""
        return self.gain < bound(self._stretched)


def _queue(topology: dict[str, Any], name: str) -> dict[str, Any]:
    """The table of a congested resource; "/cpu" is the processor in front of a link."""
    link, _, cpu = name.partition("/")
    kind = topology["kind"]
    if kind == "dumbbell" and link == "bottleneck":
        table = topology[link]
    elif kind == "parking-lot" and link.startswith("hop "):
        table = topology["hops"][int(link.removeprefix("hop ")) - 1]
    else:
        raise ModelError(
            f"packets: got {name} in a topology of kind {kind}, expected the bottleneck of a "
            "dumbbell or the hops of a parking lot"
        )
    found: dict[str, Any] = table["cpu"] if cpu else table
    return found


def design(network: Network, scenario: Scenario | None = None) -> Design:
    """max_th for each congested resource with its min_th and max_p; ``scenario`` is needed for the
    check with packets.

    Raises :class:`~marqueue.errors.ModelError` if a price is not below 1 (C1, C2).
    """
    network.equilibrium  # noqa: B018 - refuses where there is none
    psi = bound(network)
    setting = Drq(network, psi, scenario=scenario)
    packet = max(flows.packet for flows in network.flows)
    configure, equilibrium = {}, {}
    for name in network.optimum.congested:
        i = network.sharing.index[name]
        red = network.red[i]
        slope = psi * network.mean_density[i] / network.sharing.capacity[i]
        flat = max(red.lower + red.m / slope, (1 - red.m) / slope)
        configure[f"{name}: max_th"] = Value(flat / packet, "packets")
        configure[f"{name}: min_th"] = Value(red.lower / packet, "packets")
        configure[f"{name}: max_p"] = Value(red.m)
        equilibrium[f"{name}: price"] = Value(float(network.optimum.prices[i]))
    return Design(
        controller="drq",
        setting=setting,
        of="gain",
        unit="1/s",
        side="below",
        rules=(Rule("Proposition 2", SOURCE, psi, "sufficient"),),
        configure=configure,
        equilibrium=equilibrium,
        assumptions=(
            "long TCP flows with constant round trips (A2), those without queueing",
            "prices below 1 (conditions C1 and C2)",
            "one slope times capacity at all that is congested: "
            + ", ".join(network.optimum.congested),
        ),
        plane=Plane(
            axis("Slope times capacity [1/s]", psi, 100.0),
            axis("Round trips, as a multiple", 1.0),
            lambda gain, stretch: replace(setting, gain=gain, stretch=stretch),
        ),
        reach=1e8,
    )
