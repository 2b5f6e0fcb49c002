"""Warnings of a result: what limits the conclusions that its figures allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from marqueue.results.data import ResultData
from marqueue.scenario import Scenario, scenario_warnings
from marqueue.scenario.parameters import resolved_tcp

T = TypeVar("T")

#: Groups of traffic, and classes, whose figures the summary and the report have one by one. Those
#: of more are read by no one, and would make a summary of 4 kB a group.
MOST_LISTED = 256
#: Names in a sentence.
MOST_NAMED = 8


def listed(names: Sequence[T]) -> Sequence[T]:
    """The groups or classes whose figures are listed: the first ones, if there are many."""
    return names[:MOST_LISTED]


def _unlisted(result: ResultData) -> Iterator[str]:
    """Where the figures are of the groups and classes that are not listed."""
    for names, what, column in (
        (result.groups, "groups of traffic", "group"),
        (result.classes, "classes", "class"),
    ):
        if len(names) > MOST_LISTED:
            argument = {"class": "class_"}.get(column, column)
            yield (
                f"{len(names):,} {what}: figures are listed for the first {MOST_LISTED}. "
                f"flows.parquet has the flows of all, by its column {column}; in Python, "
                f"Result.load(DIRECTORY).traffic({argument}=NAME) gives the figures of any."
            )


def _named(names: Sequence[str]) -> str:
    """The names, or the first of them and how many more."""
    more = len(names) - MOST_NAMED
    if more <= 0:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {more:,} more"


def provenance_remarks(result: ResultData) -> list[str]:
    """What a reader must know of how the result came about: limits, warm-up, stopping, live."""
    made = result.provenance
    remarks = (
        made.partial_remark,
        made.warmup_remark,
        made.stopping_remark,
        made.live_remark,
    )
    return [each for each in remarks if each]


def route_rtts(plan: Mapping[str, Any]) -> list[float]:
    """Two-way propagation delay of each route, s."""
    delays = [link["delay"] for link in plan["links"]]
    return [
        sum(delays[i] for i in (*route["forward"], *route["reverse"])) / 1e9
        for route in plan["routes"]
    ]


def result_warnings(result: ResultData) -> list[str]:
    """What makes the figures less general than they look."""
    plan = result.plan
    if result.provenance.command:
        # The plan's traffic is not what crossed it.
        return provenance_remarks(result)
    out = [*provenance_remarks(result), *_unlisted(result)]
    out += scenario_warnings(Scenario.model_validate(result.scenario))
    if result.replications == 1:
        out.append("One replication: nothing is known of the spread from one to another.")
    if result.warmup == 0:
        out.append("No warm-up is cut off: the start of the flows is part of every figure.")
    if len(np.unique(np.round(route_rtts(plan), 9))) == 1:
        out.append(
            "All flows have one round-trip time: phase effects and synchronisation are likely."
        )
    together = _together(result)
    if together:
        out.append(f"Flows start at the same instant (jitter 0): {_named(together)}.")
    if _one_way(plan):
        out.append(
            "One-way traffic: no data crosses the way of the acknowledgements, which are "
            "neither delayed nor lost."
        )
    misread = _misread(result)
    if misread:
        out.append(
            "DRQ takes ECT for its state 10, as if another resource were congested, and marks "
            f'these groups too often: {_named(misread)}. Expected ecn_field = "initial" '
            "beside ecn."
        )
    unheld = _unheld(result)
    if unheld:
        out.append(
            f"TCP without a queue that could tell it to slow down: {_named(unheld)}. What waits "
            "on a wire is neither limited nor measured."
        )
    unfinished = _unfinished(result)
    if unfinished:
        out.append(
            f"{unfinished} finite flows of the measured time had not finished when the run ended; "
            "their completion times are missing from the distribution."
        )
    return out


def _together(result: ResultData) -> list[str]:
    """The groups of several flows that start at the same instant."""
    flows: Counter[str] = Counter()
    for group, entry in zip(result.plan_groups, result.plan["traffic"], strict=True):
        [settings] = entry["kind"].values()
        if settings.get("jitter") == 0:
            flows[group] += settings["count"]
    return [group for group, count in flows.items() if count > 1]


def _one_way(plan: Mapping[str, Any]) -> bool:
    forward = {i for route in plan["routes"] for i in route["forward"]}
    queued = {i for i, link in enumerate(plan["links"]) if link["queue"] is not None}
    crossed = queued & forward
    return all(crossed.isdisjoint(route["reverse"]) for route in plan["routes"])


def _misread(result: ResultData) -> list[str]:
    """The groups of TCP with ECN whose data cross a queue under DRQ but do not set out at 00."""
    plan = result.plan
    drq = {
        i
        for i, link in enumerate(plan["links"])
        if link["queue"] is not None and link["queue"]["policy"]["name"] == "drq"
    }
    values = [resolved_tcp(each["preset"], each["params"]) for each in plan["transports"]]
    groups = []
    for group, entry in zip(result.plan_groups, plan["traffic"], strict=True):
        [settings] = entry["kind"].values()
        if "transport" not in settings:
            continue
        tcp = values[settings["transport"]]
        routes = settings["routes"] if "routes" in settings else [settings["route"]]
        crosses = any(not drq.isdisjoint(plan["routes"][route]["forward"]) for route in routes)
        if crosses and tcp["ecn"] and tcp["ecn_field"] == "ect":
            groups.append(group)
    return list(dict.fromkeys(groups))


def _unheld(result: ResultData) -> list[str]:
    """The groups of TCP whose data crosses no queue."""
    plan = result.plan
    queued = {i for i, link in enumerate(plan["links"]) if link["queue"] is not None}
    groups = []
    for group, entry in zip(result.plan_groups, plan["traffic"], strict=True):
        [settings] = entry["kind"].values()
        routes = settings["routes"] if "routes" in settings else [settings["route"]]
        if "transport" in settings and any(
            queued.isdisjoint(plan["routes"][route]["forward"]) for route in routes
        ):
            groups.append(group)
    return list(dict.fromkeys(groups))


def _unfinished(result: ResultData) -> int:
    return sum(f.started - len(f.completion_times) for f in result.flow_sets())
