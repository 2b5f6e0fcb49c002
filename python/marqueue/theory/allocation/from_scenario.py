"""Makes the flows and resources of an allocation from a scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from marqueue.errors import Problem, ScenarioError
from marqueue.scenario import Scenario, compile
from marqueue.scenario.quadrature import with_classes
from marqueue.theory.allocation.proportional_fairness import Optimum, proportionally_fair
from marqueue.theory.allocation.resources import Flows, Resource, Sharing
from marqueue.theory.plan_inputs import Plan, round_trip, tcp_settings

Weights = Literal["tcp", "equal"]
"""Weights alpha of flows: sqrt(3/2) M / tau (TCP), or equal."""


@dataclass
class AllocationProblem:
    """The allocation problem of a scenario, with the assumptions made."""

    sharing: Sharing
    assumed: tuple[str, ...]
    managed: tuple[str, ...]
    """The resources with a queue that is measured."""


def region(scenario: Scenario) -> Optimum:
    """The optimum of a scenario. Its ``.region`` is the region of the whole network, ``.region_of``
    that of one CPU with its link.

    Raises :class:`ScenarioError` as :func:`allocation_problem` does.
    """
    return proportionally_fair(allocation_problem(scenario).sharing)


def allocation_problem(scenario: Scenario, weights: Weights = "tcp") -> AllocationProblem:
    """The long TCP flows of a scenario, and the CPUs and links that they cross.

    The load of other traffic is subtracted from the capacities. Raises :class:`ScenarioError` if
    the scenario is outside the model: no long TCP flows, rate-controlled flows, a changing rate, or
    other traffic that takes all of a capacity.
    """
    reader = _Reader(compile(with_classes(scenario)), weights)
    reader.read()
    if not reader.flows:
        raise _outside("traffic", "got no TCP flows without end, expected some that share")
    plan = reader.plan
    resources = [_resource(link) for link in plan["links"]]
    for i, load in enumerate(reader.load):
        if load >= resources[i].capacity:
            raise _outside(
                "traffic",
                f"other traffic offers {load / resources[i].capacity:.3g} times what "
                f"{resources[i].name} can do, expected less than 1",
            )
        resources[i] = replace(resources[i], capacity=resources[i].capacity - load)
    crossed = {name for flows in reader.flows for name in flows.demands}
    names = [link["name"] for link in plan["links"]]
    sharing = Sharing(
        tuple(r for r in resources if r.name in crossed),
        tuple(reader.flows),
        tuple((cpu, cpu.removesuffix("/cpu")) for cpu in names if _is_cpu_of(cpu, crossed)),
    )
    managed = tuple(link["name"] for link in plan["links"] if link["queue"])
    return AllocationProblem(sharing, tuple(dict.fromkeys(reader.assumed)), managed)


def _is_cpu_of(name: str, crossed: set[str]) -> bool:
    return name in crossed and name.endswith("/cpu")


def _outside(path: str, message: str) -> ScenarioError:
    return ScenarioError([Problem(path, f"outside the model of allocations: {message}")])


def _resource(link: Plan) -> Resource:
    if link.get("schedule") or link.get("delivery_opportunities"):
        raise _outside("topology", f"the rate of {link['name']} changes")
    if link.get("medium"):
        raise _outside("topology", f"{link['name']} waits for access to its medium")
    if cpu := link.get("cpu"):
        return Resource(link["name"], "cpu", float(cpu["clock"] * cpu["cores"]))
    return Resource(link["name"], "link", float(link["rate"]))


@dataclass
class _Reader:
    plan: Plan
    weights: Weights
    flows: list[Flows] = field(default_factory=list)
    load: np.ndarray[Any, np.dtype[np.float64]] = field(init=False)
    """The load of other traffic at each resource."""
    assumed: list[str] = field(
        default_factory=lambda: [
            "Acknowledgements take nothing; rates are on the wire, headers and retransmissions "
            "included."
        ]
    )

    def __post_init__(self) -> None:
        self.load = np.zeros(len(self.plan["links"]))

    def read(self) -> None:
        """Reads all traffic."""
        for group in self.plan["traffic"]:
            [(kind, what)] = group["kind"].items()
            if kind == "tcp" and not what.get("size") and not what.get("write"):
                self.long(group, what)
            else:
                self.other(group, kind, what)
        if self.weights == "tcp":
            self.assumed.append(
                "A flow's weight is sqrt(3/2) packet / round trip (Proposition 1), the round trip "
                "without queueing."
            )

    def long(self, group: Plan, what: Plan) -> None:
        """TCP flows without an end: they share the resources."""
        route = self.plan["routes"][what["route"]]
        wire = tcp_settings(self.plan, what["transport"])["wire"]
        tau = round_trip(self.plan, route, wire)
        weight = math.sqrt(1.5) * 8 * wire / tau if self.weights == "tcp" else 1.0
        demands = {
            self.plan["links"][i]["name"]: self.density(i, group, wire) for i in route["forward"]
        }
        self.flows.append(Flows(group["name"], weight, demands, what["count"]))

    def other(self, group: Plan, kind: str, what: Plan) -> None:
        """Other traffic: its load is subtracted from the capacities."""
        if kind in ("paced", "media") or what.get("write"):
            raise _outside(
                "traffic",
                f"{group['name']} is neither of TCP flows with data at hand nor of a load that is "
                "known beforehand",
            )
        if kind == "tcp":
            self.assumed.append(f"{group['name']}: flows that end take nothing in the long run.")
            return
        size, rate = self.offered(kind, what)
        routes: Sequence[int] = what["routes"] if "routes" in what else [what["route"]]
        for route in routes:
            for i in self.plan["routes"][route]["forward"]:
                self.load[i] += self.density(i, group, size) * rate / len(routes)
        self.assumed.append(
            f"{group['name']}: what it offers, {rate / 1e6:.4g} Mbit/s, is taken off the "
            "capacities."
        )

    def offered(self, kind: str, what: Plan) -> tuple[float, float]:
        """The size of a packet, bytes, and the rate of all flows together, bits/s."""
        if kind == "poisson":
            wire = tcp_settings(self.plan, what["transport"])["wire"]
            return wire, what["rate"] * what["size"] * 8 * wire
        if kind == "cbr":
            return what["packet"], float(what["rate"] * what["count"])
        if kind == "recorded":
            sizes = [size for _, size in what["packets"]]
            seconds = max(what["packets"][-1][0] / 1e9, 1e-9)
            return sum(sizes) / len(sizes), what["count"] * 8 * sum(sizes) / seconds
        return what["packet"], what["rate"] * 8 * what["packet"]

    def density(self, link: int, group: Plan, size: float) -> float:
        """Cycles/bit of packets of ``size`` bytes at a CPU; 1 at a link."""
        cpu = self.plan["links"][link].get("cpu")
        if not cpu:
            return 1.0
        work = cpu["work"][group["class"]]
        return float(work["per_bit"] + work["per_packet"] / (8 * size)) / 1e6
