"""Evaluations that standards ask for: suites of scenarios for AQMs and for congestion controls.

A suite is a list of cases, a module for each group. A case makes scenarios for a contender, says
what is measured, and has criteria that can fail. ``AQM_SUITES`` and ``CC_SUITES`` list the suites.
"""

from marqueue.evaluation.bench import SIMULATED
from marqueue.evaluation.case import Case, Contender, Effort, Suite
from marqueue.evaluation.contenders import (
    aqm_contender,
    build_once,
    checked_names,
    control_contender,
    split_names,
)
from marqueue.evaluation.evaluating import Evaluation, Planned, evaluate, planned
from marqueue.evaluation.report import evaluation_report, write_report
from marqueue.evaluation.rfc7928 import RFC7928
from marqueue.evaluation.rfc9743 import RFC9743
from marqueue.evaluation.table import evaluation_table
from marqueue.evaluation.tcpeval import TCPEVAL

AQM_SUITES = {RFC7928.name: RFC7928}
CC_SUITES = {each.name: each for each in (RFC9743, TCPEVAL)}

__all__ = [
    "AQM_SUITES",
    "CC_SUITES",
    "SIMULATED",
    "Case",
    "Contender",
    "Effort",
    "Evaluation",
    "Planned",
    "Suite",
    "aqm_contender",
    "build_once",
    "checked_names",
    "control_contender",
    "evaluate",
    "evaluation_report",
    "evaluation_table",
    "planned",
    "split_names",
    "write_report",
]
