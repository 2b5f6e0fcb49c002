"""The validation ladder: what is known to be right, and how it is checked.

A rung is a file that names its tasks; a task runs simulations and gives checks, each with its law,
its tolerance and the reason for it. ``RUNGS`` is the one list of them, the cheapest proof first.
"""

from marqueue.validate.beside_ns2 import BESIDE_NS2
from marqueue.validate.check import Check
from marqueue.validate.conservation import CONSERVATION
from marqueue.validate.cubic import CUBIC
from marqueue.validate.dctcp import DCTCP
from marqueue.validate.ladder import Ladder, climb
from marqueue.validate.loss_laws import LOSS_LAWS
from marqueue.validate.phases import PHASES
from marqueue.validate.queueing import QUEUEING
from marqueue.validate.report import write_report
from marqueue.validate.rtt_fairness import RTT_FAIRNESS
from marqueue.validate.rung import Bench, Effort, Rung, Task
from marqueue.validate.table import ladder_table

RUNGS = {
    rung.name: rung
    for rung in (
        CONSERVATION,
        QUEUEING,
        LOSS_LAWS,
        CUBIC,
        DCTCP,
        RTT_FAIRNESS,
        PHASES,
        BESIDE_NS2,
    )
}

__all__ = [
    "RUNGS",
    "Bench",
    "Check",
    "Effort",
    "Ladder",
    "Rung",
    "Task",
    "climb",
    "ladder_table",
    "write_report",
]
