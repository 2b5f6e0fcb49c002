"""What PIE and PI2 have in common: a PI controller of the delay, with gains in hertz."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from marqueue.design.delayed_system import Nonlinear
from marqueue.design.tcp import Controller, Plant
from marqueue.design.tcp_experiment import OverTcp
from marqueue.theory.linear.margins import Loop


@dataclass(frozen=True)
class DelayController(OverTcp):
    """A controller of the delay with its gains, on a link."""

    capacity: float
    """packets/s."""
    flows: float
    rtt: float
    """s, queueing included."""
    alpha: float
    """Gain on the deviation from the target, Hz."""
    ratio: float
    """beta / alpha; the design of alpha keeps it."""
    target: float
    """s."""
    period: float
    """Time between two updates, s."""

    @property
    def beta(self) -> float:
        """Gain on the change of the delay, Hz."""
        return self.ratio * self.alpha

    @property
    def plant(self) -> Plant:
        """The model of TCP and the queue."""
        return Plant(self.capacity, self.flows, self.rtt)

    @property
    @abstractmethod
    def _controller(self) -> Controller:
        """The controller of the queue in continuous time."""

    @property
    def loop(self) -> Loop:
        """The linear model."""
        return self.plant.close(self._controller)

    @property
    def fluid(self) -> Nonlinear:
        """The nonlinear model, with the controller of the equilibrium."""
        return self.plant.fluid(self._controller, self.settled_queue)

    @property
    def settled_queue(self) -> float:
        """The queue at the equilibrium, packets."""
        return self.target * self.capacity
