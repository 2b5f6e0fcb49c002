"""DRQ: how steep its RED may be, for any network.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, Proposition 2: stable if the steeper slope of RED
times capacity is below psi (32) at every congested resource; see
:mod:`marqueue.theory.drq_stability`. RED that begins at min_th and reaches max_p at max_th, and 1
at twice max_th, is that flat if

    max_th >= max(min_th + max_p c / psi, (1 - max_p) c / psi).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from marqueue.theory.design.delayed import Delayed, Nonlinear
from marqueue.theory.design.design import Design, Plane, Rule, Value
from marqueue.theory.design.planes import axis
from marqueue.theory.drq_fluid import Drq as Network
from marqueue.theory.drq_fluid import Red
from marqueue.theory.drq_stability import bound
from marqueue.theory.margins import Loop

SOURCE = "Shin, Chong and Rhee 2008"


@dataclass(frozen=True)
class Drq(Delayed):
    """A network whose congested resources have RED of one slope times capacity."""

    network: Network
    gain: float
    """Slope times capacity, 1/s."""
    stretch: float = 1.0
    """All round trips are so many times what they are in the network."""

    @property
    def _stretched(self) -> Network:
        if self.stretch == 1.0:
            return self.network
        flows = tuple(replace(f, rtt=f.rtt * self.stretch) for f in self.network.flows)
        return replace(self.network, flows=flows)

    @property
    def loop(self) -> Loop:
        """(9) to (15) with constant round trips; cut where RED measures its queues."""
        network = self._stretched
        return Loop(network.linear(self.gain), network.linear(0.0))

    @property
    def fluid(self) -> Nonlinear:
        """With RED that has this slope where it marks at its price, from an empty queue on."""
        network = self._stretched
        network.equilibrium  # noqa: B018 - refuses where there is none
        at = {network.sharing.index[name] for name in network.optimum.congested}
        red = list(network.red)
        for i in at:
            slope = self.gain * network.mean_density[i] / network.sharing.capacity[i]
            m = min(1.0, 2 * float(network.optimum.prices[i]))
            red[i] = Red(0.0, m / slope, m, red[i].eta)
        model = replace(network, red=tuple(red))
        return Nonlinear(model.field, list(model.delays), model.equilibrium)

    def guaranteed(self) -> bool:
        """Proposition 2."""
        return self.gain < bound(self._stretched)


def design(network: Network) -> Design:
    """max_th for each congested resource, with the min_th and max_p that it has.

    Raises :class:`~marqueue.errors.ModelError` if a price is not below 1 (C1, C2).
    """
    network.equilibrium  # noqa: B018 - refuses where there is none
    psi = bound(network)
    setting = Drq(network, psi)
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
