"""Buffer sizing: four rules for the size of a buffer, and what models state about each."""

from marqueue.theory.buffer_sizing.models import predict
from marqueue.theory.buffer_sizing.rules import AQMS, RULES, Demand, Rule
from marqueue.theory.buffer_sizing.statements import Model, Statement

__all__ = [
    "AQMS",
    "RULES",
    "Demand",
    "Model",
    "Rule",
    "Statement",
    "predict",
]
