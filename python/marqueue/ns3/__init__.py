"""ns-3 beside the simulator here: one description of a dumbbell, and what ns-3 measured on it."""

from marqueue.ns3.case import Case

__all__ = ["Case"]
