"""The proportionally fair rates of a set-up: the dotted lines."""

from __future__ import annotations

import math
from collections.abc import Mapping

from marqueue.scenario import Scenario, compile
from marqueue.theory.resources import Flows, Resource, Sharing

NOTHING: Mapping[str, float] = {}


def sharing(
    scenario: Scenario,
    taken: Mapping[str, float] = NOTHING,
    waits: Mapping[str, float] = NOTHING,
    priorities: Mapping[str, float] = NOTHING,
) -> Sharing:
    """The long TCP flows of a scenario and the resources that they share, flows by group.

    By resource ``taken`` is what others take of it, cycles/s or bits/s, and ``waits`` the time that
    packets wait there, s; by group ``priorities`` is what alpha, sqrt(3/2) M/tau (Proposition 1),
    is multiplied with.
    """
    plan = compile(scenario)
    resources = tuple(
        Resource(link["name"], "cpu" if "cpu" in link else "link", capacity(link) - taken.get(link["name"], 0.0))
        for link in plan["links"]
        if link["queue"] is not None
    )
    flows = []
    for table, entry in zip(scenario.traffic, plan["traffic"], strict=True):
        kind, told = next(iter(entry["kind"].items()))
        if kind != "tcp" or told["size"] is not None:
            continue
        name = table.name or kind
        route = plan["routes"][told["route"]]
        ways = [plan["links"][i] for i in (*route["forward"], *route["reverse"])]
        seconds = sum(way["delay"] for way in ways) / 1e9
        seconds += sum(waits.get(way["name"], 0.0) for way in ways)
        bits = 8 * scenario.transport[table.transport].wire_bytes
        demands = {
            way["name"]: density(way, entry.get("class", 0), bits)
            for way in ways
            if way["queue"] is not None
        }
        weight = priorities.get(name, 1.0) * math.sqrt(1.5) * bits / seconds
        flows.append(Flows(name, weight, demands, told["count"]))
    return Sharing(resources, tuple(flows))


def capacity(link: Mapping) -> float:
    """Cycles/s of a CPU, bits/s of a link."""
    if "cpu" in link:
        return float(link["cpu"]["clock"] * link["cpu"]["cores"])
    return float(link["rate"])


def density(link: Mapping, group: int, bits: int) -> float:
    """What a bit of a group takes: true cycles at a CPU, 1 at a link."""
    if "cpu" not in link:
        return 1.0
    work = link["cpu"]["work"][group]
    return float(work["per_bit"] + work["per_packet"] / bits) / 1e6
