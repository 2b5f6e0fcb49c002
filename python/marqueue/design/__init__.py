"""Design of gains for AQMs and rate laws, one module per controller.

Each takes the parameters of a link and its flows, and returns the bound of a theorem, its distance
from the exact stability boundary of the linear model, the margins and the assumptions.
docs/theory/design.md compares the theorems.
"""

from marqueue.design.check import SideOfBoundary, check
from marqueue.design.design import Design, Rule, Value
from marqueue.design.packets import Packets, by_packets
from marqueue.design.rule_design import BothSides, RuleDesign, both_sides
from marqueue.design.stability_map import StabilityMap, stability_map

__all__ = [
    "BothSides",
    "Design",
    "Packets",
    "Rule",
    "RuleDesign",
    "SideOfBoundary",
    "StabilityMap",
    "Value",
    "both_sides",
    "by_packets",
    "check",
    "stability_map",
]
