"""Fluid models of networks: sources and queues as differential equations with delays.

``model`` holds the equations and what may be asked of them, ``batch`` many of them at once.
``from_scenario`` makes a description of a scenario, ``solution`` solves it, ``warnings`` says where
it may not hold.
"""

from marqueue.theory.fluid.batch import batch
from marqueue.theory.fluid.model import Jacobian, Model, Observables, Solution, State

__all__ = ["Jacobian", "Model", "Observables", "Solution", "State", "batch"]
