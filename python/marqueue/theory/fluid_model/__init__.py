"""Fluid models of networks: sources and queues as differential equations with delays.

``model`` holds the equations and what may be asked of them.
"""

from marqueue.theory.fluid_model.model import Jacobian, Model, Seen, Solution, State

__all__ = ["Jacobian", "Model", "Seen", "Solution", "State"]
