"""Results: named arrays, figures with confidence intervals, and their files."""

from marqueue.result.link import Link
from marqueue.result.result import CONFIDENCE, PartialResult, Result
from marqueue.result.subject import Chosen, Subject, choose, choose_all, subjects, subjects_of
from marqueue.result.traffic import FLOW_FIGURES, RUN_FIGURES, Flows
from marqueue.result.window import LINK_FIGURES, Figure, Window

__all__ = [
    "CONFIDENCE",
    "FLOW_FIGURES",
    "LINK_FIGURES",
    "RUN_FIGURES",
    "Chosen",
    "Figure",
    "Flows",
    "Link",
    "PartialResult",
    "Result",
    "Subject",
    "Window",
    "choose",
    "choose_all",
    "subjects",
    "subjects_of",
]
