"""Theory: models of what the simulator simulates, each a module named after what it models.

``theory.fluid(scenario)`` solves the fluid model of a scenario.
"""

from marqueue.theory.fluid_model.fluid import Fluid, fluid

__all__ = ["Fluid", "fluid"]
