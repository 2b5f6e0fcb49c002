"""Which gains to choose: a module a controller.

Each takes what is known of a link and its flows, and says what a theorem allows, how far that is
from the exact boundary of the linear model, with what margins, and under which assumptions.
docs/theory/design.md has the theorems side by side.
"""

from marqueue.design.check import SideOfBoundary, check
from marqueue.design.design import Design, Rule, Value
from marqueue.design.packets import Packets, by_packets
from marqueue.design.stability_map import StabilityMap, stability_map

__all__ = [
    "Design",
    "Packets",
    "Rule",
    "SideOfBoundary",
    "StabilityMap",
    "Value",
    "by_packets",
    "check",
    "stability_map",
]
