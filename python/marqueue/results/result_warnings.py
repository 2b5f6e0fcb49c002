"""Warnings of a result: what limits the conclusions that its figures allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from marqueue.results.congested_links import CONGESTION
from marqueue.results.data import ResultData
from marqueue.results.modelled import bottleneck_from, modelled_links
from marqueue.scenario import scenario_warnings
from marqueue.scenario.hybrid import crossed_links, is_modelled
from marqueue.scenario.parameters import resolved_tcp

T = TypeVar("T")

#: Links, groups or classes in the summary and the report; each takes 4 kB in the summary.
MOST_LISTED = 256
#: Names listed in a sentence.
MOST_NAMED = 8


def listed(names: Sequence[T]) -> Sequence[T]:
    """The groups or classes whose figures are listed: at most the first :data:`MOST_LISTED`."""
    return names[:MOST_LISTED]


def _unlisted(result: ResultData) -> Iterator[str]:
    """Sentences about links, groups and classes that are not listed, and where their figures
    are."""
    if len(result.links) > MOST_LISTED:
        yield (
            f"{len(result.links):,} links: figures are listed for the {MOST_LISTED} with "
            f"the {CONGESTION}. windows.parquet has those of every link."
        )
    for names, what, column in (
        (result.groups, "groups of traffic", "group"),
        (result.classes, "classes", "class"),
    ):
        if len(names) > MOST_LISTED:
            argument = {"class": "class_"}.get(column, column)
            yield (
                f"{len(names):,} {what}: figures are listed for the first {MOST_LISTED}. "
                f"flows.parquet has all flows, with a column {column}. In Python, "
                f"Result.load(DIRECTORY).traffic({argument}=NAME) has the figures of each."
            )


def named(names: Sequence[str]) -> str:
    """The names, or the first of them and the number of others."""
    more = len(names) - MOST_NAMED
    if more <= 0:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {more:,} more"


def provenance_remarks(result: ResultData) -> list[str]:
    """Remarks on how the result was made: limit, warm-up, stopping rule, live measurement."""
    made = result.provenance
    remarks = (
        made.partial_remark,
        made.warmup_remark,
        made.stopping_remark,
        made.live_remark,
        result.many_flows and result.many_flows.remark,
    )
    return [each for each in remarks if each]


def has_spread_rtts(plan: Mapping[str, Any]) -> bool:
    """Whether flows of one route have different propagation delays."""
    laws = [link["per_flow"]["delay"] for link in plan["links"] if link.get("per_flow")]
    return any("constant" not in law for law in laws)


def route_rtts(plan: Mapping[str, Any]) -> list[float]:
    """Two-way propagation delay of each route, s; the shortest if its flows differ."""
    delays = [link["delay"] for link in plan["links"]]
    # A network may have 10^7 steps.
    return [
        sum(map(delays.__getitem__, (*there, *back))) / 1e9 for there, back in crossed_links(plan)
    ]


def result_warnings(result: ResultData) -> list[str]:
    """Sentences that limit the conclusions from the figures."""
    plan = result.plan
    if result.provenance.command:
        # The plan's traffic is a placeholder for the command.
        return provenance_remarks(result)
    out = [*provenance_remarks(result), *_unlisted(result)]
    out += scenario_warnings(result.checked_scenario)
    if result.replications == 1:
        out.append("One replication: there are no confidence intervals over replications.")
    if result.warmup == 0:
        out.append("No warm-up: every figure includes the start of the flows.")
    if len(set(np.round(route_rtts(plan), 9).tolist())) == 1 and not has_spread_rtts(plan):
        out.append(
            "All flows have the same round-trip time: phase effects and synchronization are likely."
        )
    together = _together(result)
    if together:
        out.append(f"Flows start at the same instant (jitter 0): {named(together)}.")
    if _one_way(plan):
        out.append(
            "One-way traffic: no data shares the path of the acknowledgements, so they are neither "
            "delayed nor lost."
        )
    misread = _misread_by_drq(result)
    if misread:
        out.append(
            "DRQ reads ECT as its state 10, which means that another resource is congested, and "
            f"marks these groups too often: {named(misread)}. "
            'Expected ecn_field = "initial" with ecn.'
        )
    unmanaged = _without_queue(result)
    if unmanaged:
        out.append(
            f"TCP flows without a managed queue on their route: {named(unmanaged)}. The queue of "
            "a wire is neither limited nor measured."
        )
    out += _busier(result)
    unfinished = _unfinished(result)
    if unfinished:
        out.append(
            "Finite flows of the measured time that had not finished at the end of the run: "
            f"{unfinished}. Their completion times are missing in the distribution."
        )
    return out


def _busier(result: ResultData) -> Iterator[str]:
    """A sentence about the modelled links that turned out to be bottlenecks."""
    links = modelled_links(result)
    if not links:
        return
    threshold = bottleneck_from(result.scenario)
    wrong = [
        f"{link.name} ({link.load.mean:.2f}, predicted {link.predicted:.2f})"
        for link in links
        if link.load.mean >= threshold
    ]
    if wrong:
        yield (
            "Modelled links that carried more of their rate than predicted, without the queue that "
            f"would have limited it: {named(wrong)}. Flows over them may be too fast. Expected a "
            f"load below bottleneck_from ({threshold:g}): a lower one simulates more queues."
        )


def _queued(plan: Mapping[str, Any]) -> set[int]:
    """The links that have a queue, or a model in its place."""
    links = enumerate(plan["links"])
    return {i for i, link in links if link["queue"] is not None or is_modelled(link)}


def _together(result: ResultData) -> list[str]:
    """The groups of several flows that start at the same instant."""
    flows: Counter[str] = Counter()
    for group, entry in zip(result.plan_groups, result.plan["traffic"], strict=True):
        [settings] = entry["kind"].values()
        if settings.get("jitter") == 0:
            flows[group] += settings["count"]
    return [group for group, count in flows.items() if count > 1]


def _one_way(plan: Mapping[str, Any]) -> bool:
    routes = crossed_links(plan)
    forward = {i for there, _ in routes for i in there}
    crossed = _queued(plan) & forward
    return all(crossed.isdisjoint(back) for _, back in routes)


def _misread_by_drq(result: ResultData) -> list[str]:
    """TCP groups with ECN whose data crosses a DRQ queue without starting at 00."""
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
        if crosses and tcp["ecn"] and tcp["ecn_field"] != "initial":
            groups.append(group)
    return list(dict.fromkeys(groups))


def _without_queue(result: ResultData) -> list[str]:
    """TCP groups whose data crosses no managed queue."""
    plan = result.plan
    queued = _queued(plan)
    crossed = crossed_links(plan)
    groups = []
    for group, entry in zip(result.plan_groups, plan["traffic"], strict=True):
        [settings] = entry["kind"].values()
        routes = settings["routes"] if "routes" in settings else [settings["route"]]
        if "transport" in settings and any(
            queued.isdisjoint(crossed[route][0]) for route in routes
        ):
            groups.append(group)
    return list(dict.fromkeys(groups))


def _unfinished(result: ResultData) -> int:
    return sum(f.started - f.done for f in result.measured_flows())
