"""Theory: models of what the simulator simulates, each a package named after what it models.

``theory.solve_fluid(scenario)`` solves the fluid model of a scenario.
``theory.linearize(scenario)`` gives its linear form at the equilibrium: whether it is stable, and
with what margins. Both are loaded when they are asked for, because linear models need scipy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marqueue.extras import require

if TYPE_CHECKING:
    from marqueue.theory.fluid.solution import Fluid, solve_fluid
    from marqueue.theory.linear.model import Linearized, linearize

__all__ = ["Fluid", "Linearized", "linearize", "solve_fluid"]


def __getattr__(name: str) -> Any:
    """What is loaded when it is asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("theory", f"theory.{name}")
    module = "fluid.solution" if name in ("Fluid", "solve_fluid") else "linear.model"
    return getattr(import_module(f"{__name__}.{module}"), name)
