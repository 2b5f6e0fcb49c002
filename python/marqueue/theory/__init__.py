"""Theory: models of what the simulator simulates, one package for each model.

``theory.solve_fluid(scenario)`` solves the fluid model of a scenario.
``theory.linearize(scenario)`` linearizes it at its equilibrium: stability and margins. Both are
imported on first use, because linear models need scipy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marqueue.extras import require

if TYPE_CHECKING:
    from marqueue.theory.fluid.solution import Fluid, solve_fluid
    from marqueue.theory.linear.model import Linearized, linearize

__all__ = ["Fluid", "Linearized", "linearize", "solve_fluid"]


def __getattr__(name: str) -> Any:
    """Imports a function on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("theory", f"theory.{name}")
    module = "fluid.solution" if name in ("Fluid", "solve_fluid") else "linear.model"
    return getattr(import_module(f"{__name__}.{module}"), name)
