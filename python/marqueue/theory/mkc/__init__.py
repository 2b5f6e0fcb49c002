"""Max-min Kelly control: maps of rates, fixed points, stability under delays, convergence.

Zhang, Kang and Loguinov, "Delayed Stability and Performance of Distributed Congestion Control",
SIGCOMM 2004. Equations, lemmas and theorems have the paper's numbers. docs/theory/mkc.md says which
results are the paper's, which are measured and which are derived here. Rates are in any one unit,
time is in steps.
"""

from marqueue.theory.mkc.laws import Aimd, Kelly, Mkc, Scalable, StabilityWarning
from marqueue.theory.mkc.maps import Trajectory, iterate
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss, Power, Virtual

__all__ = [
    "Aimd",
    "Kelly",
    "Loss",
    "Mkc",
    "Network",
    "Power",
    "Scalable",
    "StabilityWarning",
    "Trajectory",
    "Virtual",
    "iterate",
]
