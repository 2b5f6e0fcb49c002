"""Results: named arrays, figures with confidence intervals, and their files."""

from marqueue.result.link import Link
from marqueue.result.result import CONFIDENCE, PartialResult, Result
from marqueue.result.traffic import FLOW_FIGURES, RUN_FIGURES, Flows
from marqueue.result.window import LINK_FIGURES, Figure, Window

__all__ = [
    "CONFIDENCE",
    "FLOW_FIGURES",
    "LINK_FIGURES",
    "RUN_FIGURES",
    "Figure",
    "Flows",
    "Link",
    "PartialResult",
    "Result",
    "Window",
]
