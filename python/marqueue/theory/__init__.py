"""Theory: models of what the simulator simulates, each a module named after what it models.

``theory.fluid(scenario)`` solves the fluid model of a scenario, ``theory.linearize(scenario)`` says
whether it is stable where it rests, and with what margins.
"""

from marqueue.theory.fluid_model.fluid import Fluid, fluid
from marqueue.theory.linear import Linearized, linearize

__all__ = ["Fluid", "Linearized", "fluid", "linearize"]
