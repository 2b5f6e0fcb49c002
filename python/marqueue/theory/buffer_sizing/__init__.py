"""Buffer sizing: four rules for the size of a buffer, and the predictions of models for each."""

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
