"""How large a buffer: four rules, what models say of each, and what the simulator says."""

from marqueue.theory.buffer.check import Checked, check
from marqueue.theory.buffer.models import Prediction, predict
from marqueue.theory.buffer.recommend import Recommendation, recommend
from marqueue.theory.buffer.rules import AQMS, RULES, Demand, Rule

__all__ = [
    "AQMS",
    "RULES",
    "Checked",
    "Demand",
    "Prediction",
    "Recommendation",
    "Rule",
    "check",
    "predict",
    "recommend",
]
