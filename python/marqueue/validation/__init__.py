"""The validation ladder: checks of the simulator against theory, ns-2, ns-3 and Linux.

A rung is a file with tasks. A task runs simulations and returns checks, each with a law, a
tolerance and the reason for the tolerance. ``RUNGS`` lists the rungs, the cheapest first.
"""

from marqueue.validation.bbr import BBR
from marqueue.validation.buffers import BUFFERS
from marqueue.validation.cake import CAKE
from marqueue.validation.check import Check
from marqueue.validation.conservation import CONSERVATION
from marqueue.validation.cubic import CUBIC
from marqueue.validation.dctcp import DCTCP
from marqueue.validation.l4s import L4S
from marqueue.validation.ladder import Ladder, climb
from marqueue.validation.linux_comparison import BESIDE_LINUX
from marqueue.validation.loss_laws import LOSS_LAWS
from marqueue.validation.ns2_comparison import BESIDE_NS2
from marqueue.validation.ns3_comparison import BESIDE_NS3
from marqueue.validation.phases import PHASES
from marqueue.validation.queueing import QUEUEING
from marqueue.validation.report import write_report
from marqueue.validation.rtt_fairness import RTT_FAIRNESS
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner
from marqueue.validation.table import ladder_table

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
        BUFFERS,
        L4S,
        BBR,
        CAKE,
        BESIDE_NS2,
        BESIDE_NS3,
        BESIDE_LINUX,
    )
}

__all__ = [
    "RUNGS",
    "Check",
    "Effort",
    "Ladder",
    "Rung",
    "Task",
    "TaskRunner",
    "climb",
    "ladder_table",
    "write_report",
]
