"""ns-2 beside the simulator here: one description of a dumbbell, run by both."""

from marqueue.ns2.case import Case
from marqueue.ns2.simulator import PACKAGE, Run, Window, install, installed, run

__all__ = ["PACKAGE", "Case", "Run", "Window", "install", "installed", "run"]
