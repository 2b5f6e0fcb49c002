"""Results: named arrays, figures with confidence intervals, and their files."""

from marqueue.results.data import CONFIDENCE, ResultData
from marqueue.results.figure import Figure
from marqueue.results.flows import FLOW_FIGURES, RUN_FIGURES, Flows
from marqueue.results.link import Link
from marqueue.results.result import PartialResult, Result
from marqueue.results.subject import (
    ChosenFigure,
    Subject,
    choose,
    choose_all,
    subjects,
    subjects_of,
)
from marqueue.results.window import LINK_FIGURES, Window

__all__ = [
    "CONFIDENCE",
    "FLOW_FIGURES",
    "LINK_FIGURES",
    "RUN_FIGURES",
    "ChosenFigure",
    "Figure",
    "Flows",
    "Link",
    "PartialResult",
    "Result",
    "ResultData",
    "Subject",
    "Window",
    "choose",
    "choose_all",
    "subjects",
    "subjects_of",
]
