"""The proportionally fair rates of a set-up: the dotted lines of the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from marqueue.papers.drq.setups import BITS
from marqueue.scenario import Scenario, Tcp
from marqueue.theory.allocation.from_scenario import allocation_problem
from marqueue.theory.allocation.resources import Flows, Sharing

NOTHING: Mapping[str, float] = {}


def sharing(
    scenario: Scenario,
    taken: Mapping[str, float] | None = None,
    waits: Mapping[str, float] = NOTHING,
    priorities: Mapping[str, float] = NOTHING,
) -> Sharing:
    """The long TCP flows of a scenario, by group, and the resources that they share.

    ``taken`` is the load of other traffic by resource, cycles/s or bits/s; by default its offered
    load. ``waits`` is the queueing delay by resource, s. ``priorities`` are factors of alpha by
    group.
    """
    long = [each for each in scenario.traffic if isinstance(each, Tcp) and each.size is None]
    alone = scenario.model_copy(update={"traffic": long})
    found = allocation_problem(scenario if taken is None else alone).sharing
    took = taken or NOTHING
    resources = (replace(r, capacity=r.capacity - took.get(r.name, 0.0)) for r in found.resources)
    flows = []
    for each in found.flows:
        group = each.name.split("/")[0]
        weight = priorities.get(group, 1.0) * delayed(each, waits)
        flows.append(replace(each, name=group, weight=weight))
    return Sharing(tuple(resources), tuple(flows), found.pairs)


def delayed(flows: Flows, waits: Mapping[str, float]) -> float:
    """alpha, sqrt(3/2) M/tau (Proposition 1), with queueing delays as part of tau."""
    if not waits:
        return flows.weight
    paid = math.sqrt(1.5) * BITS
    return paid / (paid / flows.weight + sum(waits.get(name, 0.0) for name in flows.demands))
