"""How large a buffer: four rules, and what models say of each."""

from marqueue.theory.buffer_sizing.models import Prediction, predict
from marqueue.theory.buffer_sizing.rules import AQMS, RULES, Demand, Rule

__all__ = [
    "AQMS",
    "RULES",
    "Demand",
    "Prediction",
    "Rule",
    "predict",
]
