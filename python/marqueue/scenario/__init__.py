"""Scenarios: what is simulated, read from TOML or built in Python, checked, made into a plan."""

from marqueue.scenario.compiler import class_names, compile, route_classes
from marqueue.scenario.fields import Aqm, Transport
from marqueue.scenario.impairments import Jitter, Loss, Reorder
from marqueue.scenario.loading import from_dict, from_toml, load, with_overrides
from marqueue.scenario.model import Scenario
from marqueue.scenario.schema import schema
from marqueue.scenario.topology import (
    Access,
    Dumbbell,
    Graph,
    GraphClass,
    GraphLink,
    ParkingLot,
    Queue,
    RateChange,
    Star,
    StarClass,
)
from marqueue.scenario.traffic import Cbr, Packets, Poisson, Tcp

__all__ = [
    "Access",
    "Aqm",
    "Cbr",
    "Dumbbell",
    "Graph",
    "GraphClass",
    "GraphLink",
    "Jitter",
    "Loss",
    "Packets",
    "ParkingLot",
    "Poisson",
    "Queue",
    "RateChange",
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
    "load",
    "route_classes",
    "schema",
    "with_overrides",
]
