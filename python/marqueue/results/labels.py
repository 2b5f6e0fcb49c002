"""Names in the scenario for the indices of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter

from marqueue.scenario import Scenario
from marqueue.scenario import class_names as scenario_class_names
from marqueue.scenario import route_classes as scenario_route_classes
from marqueue.scenario.fields import Warmup
from marqueue.units import Duration

_WARMUP: TypeAdapter[Duration | Literal["auto"]] = TypeAdapter(Warmup)


def class_names(scenario: Mapping[str, Any]) -> list[str]:
    """The classes of flows, in the order of the scenario."""
    return scenario_class_names(Scenario.model_validate(scenario))


def route_classes(scenario: Mapping[str, Any]) -> list[str]:
    """The class of each of the plan's routes."""
    return scenario_route_classes(Scenario.model_validate(scenario))


def group_names(scenario: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
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
