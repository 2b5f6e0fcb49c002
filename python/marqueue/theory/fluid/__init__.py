"""Fluid models of networks: sources and queues as differential equations with delays.

``model`` holds the equations and what may be asked of them, ``batch`` many of them at once;
``of_scenario`` makes a description of a scenario, ``fluid`` solves it, ``cautions`` says where it
may not hold, ``overlay`` lays it on top of a simulation.
"""

from marqueue.theory.fluid.batch import batch
from marqueue.theory.fluid.model import Jacobian, Model, Observables, Solution, State

__all__ = ["Jacobian", "Model", "Observables", "Solution", "State", "batch"]
