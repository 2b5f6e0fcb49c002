"""Names in the scenario for the indices of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from marqueue.scenario import Scenario, route_classes, spread_classes
from marqueue.scenario import class_names as scenario_class_names
from marqueue.scenario.fields import Warmup
from marqueue.units import Duration

_WARMUP: TypeAdapter[Duration | Literal["auto"]] = TypeAdapter(Warmup)


QUARTERS = tuple(f"RTT quarter {i}" for i in range(1, 5))
"""Parts of a class whose flows have different propagation delays, from the shortest."""


def quarter_names(name: str) -> list[str]:
    """The classes of results into which such a class is divided."""
    return [f"{name}, {quarter}" for quarter in QUARTERS]


def class_names(scenario: Scenario) -> list[str]:
    """The classes of flows in results, in the order of the scenario. One whose flows have different
    propagation delays is divided into quarters."""
    spread = set(spread_classes(scenario))
    names = scenario_class_names(scenario)
    return [part for name in names for part in (quarter_names(name) if name in spread else [name])]


@dataclass(frozen=True)
class RouteClasses:
    """The classes of results to which the flows of each route belong."""

    names: Sequence[str]
    """All classes."""
    first: Sequence[int]
    """For each route, the index of its class, or of the first part of its class."""
    parts: Sequence[int]
    """For each route, the number of parts of its class."""


def result_classes(scenario: Scenario) -> RouteClasses:
    """The classes of results, by route."""
    spread = set(spread_classes(scenario))
    parts = [
        quarter_names(name) if name in spread else [name] for name in scenario_class_names(scenario)
    ]
    names = [part for each in parts for part in each]
    index = {name: i for i, name in reversed(list(enumerate(names)))}
    routes = route_classes(scenario)
    first = [index[quarter_names(n)[0] if n in spread else n] for n in routes]
    return RouteClasses(names, first, [len(QUARTERS) if n in spread else 1 for n in routes])


def group_names(scenario: Scenario, plan: Mapping[str, Any]) -> list[str]:
    """The scenario's group of each entry of the plan's traffic.

    A group that is spread over classes has one entry per class, named GROUP/CLASS.
    """
    classes = route_classes(scenario)
    out = []
    for entry in plan["traffic"]:
        [settings] = entry["kind"].values()
        route = settings.get("route")
        out.append(
            entry["name"] if route is None else entry["name"].removesuffix(f"/{classes[route]}")
        )
    return out


def warmup_windows(scenario: Mapping[str, Any]) -> int:
    """The number of windows in the warm-up: 0 or 1."""
    default = Scenario.model_fields["warmup"].default
    warmup = _WARMUP.validate_python(scenario.get("warmup", default))
    return int(isinstance(warmup, Duration) and warmup.base > 0)
