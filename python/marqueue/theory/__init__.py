"""Theory: models of what the simulator simulates, each a module named after what it models.

``theory.fluid(scenario)`` solves the fluid model of a scenario, ``theory.linearize(scenario)`` says
whether it is stable where it rests, and with what margins. Both are loaded when they are asked for:
linear models bring scipy, which a run does without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marqueue.extras import require

if TYPE_CHECKING:
    from marqueue.theory.fluid.solution import Fluid, fluid
    from marqueue.theory.linear.model import Linearized, linearize

__all__ = ["Fluid", "Linearized", "fluid", "linearize"]


def __getattr__(name: str) -> Any:
    """What is loaded when it is asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("theory", f"theory.{name}")
    module = "fluid_model.fluid" if name in ("Fluid", "fluid") else "linear"
    return getattr(import_module(f"{__name__}.{module}"), name)
