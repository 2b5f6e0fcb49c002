"""Scenarios: reading them from TOML or building them in Python, checking, and compiling to a
plan."""

from marqueue.scenario.compiler import (
    class_names,
    compile,
    kernels_in,
    plan_text,
    route_classes,
    spread_classes,
    ways_back,
)
from marqueue.scenario.fields import Aqm, MediaControl, RateLaw, Transport
from marqueue.scenario.hosts import kernels_of, on_kernel
from marqueue.scenario.impairments import Jitter, Loss, Reorder
from marqueue.scenario.loading import from_dict, from_toml, load, with_overrides
from marqueue.scenario.medium import Medium
from marqueue.scenario.model import Scenario
from marqueue.scenario.schema import schema
from marqueue.scenario.topology import (
    Access,
    Dumbbell,
    Graph,
    GraphClass,
    GraphLink,
    GraphNode,
    ParkingLot,
    Queue,
    RateChange,
    Star,
    StarClass,
)
from marqueue.scenario.traffic import Cbr, Media, Paced, Packets, Poisson, Quic, Recorded, Tcp
from marqueue.scenario.warnings import scenario_warnings

__all__ = [
    "Access",
    "Aqm",
    "Cbr",
    "Dumbbell",
    "Graph",
    "GraphClass",
    "GraphLink",
    "GraphNode",
    "Jitter",
    "Loss",
    "Media",
    "MediaControl",
    "Medium",
    "Paced",
    "Packets",
    "ParkingLot",
    "Poisson",
    "Queue",
    "Quic",
    "RateChange",
    "RateLaw",
    "Recorded",
    "Reorder",
    "Scenario",
    "Star",
    "StarClass",
    "Tcp",
    "Transport",
    "class_names",
    "compile",
    "from_dict",
    "from_toml",
    "kernels_in",
    "kernels_of",
    "load",
    "on_kernel",
    "plan_text",
    "route_classes",
    "scenario_warnings",
    "schema",
    "spread_classes",
    "ways_back",
    "with_overrides",
]
