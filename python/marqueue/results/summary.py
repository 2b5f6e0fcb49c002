"""All figures of a result, for JSON and for the terminal, and what a reader must know of it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.table import Table
from rich.text import Text

from marqueue.results.pipe import PIPE_FIGURES
from marqueue.results.traffic import FLOW_FIGURES
from marqueue.results.window import LINK_FIGURES
from marqueue.scenario import Scenario, scenario_warnings
from marqueue.scenario.parameters import resolved_tcp
from marqueue.statistics.estimates import Estimate
from marqueue.statistics.output_analysis import BatchMeans

if TYPE_CHECKING:
    from marqueue.results.optimum import FairOptimum
    from marqueue.results.result import Result

T = TypeVar("T")

#: The figures that the terminal shows; the summary and the report have all.
SHORT_LINK = (
    "utilization",
    "loss_ratio",
    "mark_ratio",
    "queue_mean",
    "queue_std",
    "delay_mean",
    "delay_p99",
)
#: Figures that are also means of a time series, and that series.
BATCHED = {"utilization": "utilization", "queue_mean": "queue"}
#: Batches of a single replication, and samples in each below which nothing is said of it.
BATCHES, BATCH_SAMPLES = 20, 10
SHORT_PIPE = ("wire_loss_ratio", "reordered_ratio", "extra_delay")
SHORT_FLOWS = ("goodput", "jain", "fct_mean", "fct_p95")
#: Groups of traffic, and classes, whose figures the summary and the report have one by one. Those
#: of more are read by no one, and would make a summary of 4 kB a group.
MOST_LISTED = 256
#: Names in a sentence.
MOST_NAMED = 8


def _plain(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: e.as_dict() for name, e in figures.items()}


def _span(result: Result, window: int | None) -> dict[str, Any]:
    begin, end = result.span(window)
    return {"begin": begin, "end": end}


def _link(result: Result, name: str, window: int | None) -> dict[str, Any]:
    link = result.link(name)
    shares = link.shares(window)
    return {
        **_plain(link.figures(window)),
        "drops_by_reason": _plain(link.reasons("drops", window)),
        "marks_by_reason": _plain(link.reasons("marks", window)),
        **({"groups": {g: _plain(each) for g, each in shares.items()}} if shares else {}),
    }


def _part(result: Result, window: int | None) -> dict[str, Any]:
    """All figures of one span of time, in base units."""
    pipes = {name: _plain(result.pipe(name).figures(window)) for name in result.pipes}
    return {
        **_span(result, window),
        "links": {name: _link(result, name, window) for name in result.links},
        **({"pipes": pipes} if pipes else {}),
        "flows": _plain(result.traffic(window)),
        "groups": {g: _plain(result.traffic(window, group=g)) for g in listed(result.groups)},
        "classes": {c: _plain(result.traffic(window, class_=c)) for c in listed(result.classes)},
    }


def listed(names: Sequence[T]) -> Sequence[T]:
    """The groups or classes whose figures are listed: the first ones, if there are many."""
    return names[:MOST_LISTED]


def _unlisted(result: Result) -> Iterator[str]:
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


def summary(result: Result) -> dict[str, Any]:
    """Everything that is a function of scenario, seed, version and what was asked of the run; base
    units throughout."""
    provenance = result.provenance
    optimum = result.optimum
    return {
        "name": result.name,
        "version": provenance.version,
        "scenario_hash": provenance.scenario_hash,
        "seed": provenance.seed,
        "replications": result.replications,
        "confidence": 0.95,
        "warmup": result.warmup,
        "partial": provenance.partial,
        "warmup_cut": provenance.warmup_cut,
        "stopping": provenance.stopping,
        **({} if provenance.live is None else {"live": provenance.live}),
        "warnings": warnings(result),
        **({} if optimum is None else {"optimum": optimum_as_dict(optimum)}),
        **({} if result.theory is None else {"theory": result.theory.to_dict()}),
        "measured": _part(result, None),
        "windows": [_part(result, w) for w in result.begun],
        "whole_run": {
            "flows": _plain(result.run_totals()),
            "groups": {g: _plain(result.run_totals(group=g)) for g in listed(result.groups)},
            "classes": {c: _plain(result.run_totals(class_=c)) for c in listed(result.classes)},
        },
    }


def optimum_as_dict(optimum: FairOptimum | str) -> dict[str, Any]:
    """The optimum, or why there is none."""
    return {"outside": optimum} if isinstance(optimum, str) else optimum.as_dict()


def table(result: Result) -> Table:
    """The main figures over the measured time."""
    begin, end = result.span()
    from_batches = batched_figures(result)
    out = Table(
        title=Text(
            f"{result.name}{' (partial)' * result.partial}: {begin:g} to {end:g} s, "
            f"{result.replications} replication{'s' * (result.replications != 1)}"
        ),
        caption=_caption(result, from_batches),
        title_justify="left",
        caption_justify="left",
    )
    out.add_column("")
    for name in result.links:
        out.add_column(Text(name), justify="right", no_wrap=True)
    links = [result.link(name).figures() | from_batches.get(name, {}) for name in result.links]
    for link_figure in LINK_FIGURES:
        if link_figure.name in SHORT_LINK:
            out.add_row(Text(link_figure.title), *(str(link_figure.shown(each)) for each in links))
    out.add_section()
    for name in result.pipes:
        pipe = result.pipe(name).figures()
        for figure in PIPE_FIGURES:
            if figure.name in SHORT_PIPE and pipe[figure.name].mean > 0:
                out.add_row(Text(f"{figure.title}, {name}"), str(figure.shown(pipe)))
    shares = [result.link(name).shares() for name in result.links]
    out.add_section()
    for group in shares[0] if shares else ():
        out.add_row(Text(f"Share of {group}"), *(str(each[group]["share"]) for each in shares))
    flows = result.traffic()
    out.add_section()
    for flow_figure in FLOW_FIGURES:
        if flow_figure.name in SHORT_FLOWS and flows[flow_figure.name].n:
            out.add_row(Text(flow_figure.title), str(flow_figure.shown(flows)))
    return out


def _caption(result: Result, from_batches: Mapping[str, Mapping[str, BatchMeans]]) -> str:
    """What ± stands for."""
    if result.replications > 1:
        lines = ["mean ± half width of the 95% confidence interval over replications"]
    elif from_batches:
        lines = [f"one replication: {batches_sentence(from_batches)}"]
    else:
        lines = ["one replication: no confidence intervals"]
    return "\n".join([*lines, *_remarks(result)])


def _remarks(result: Result) -> list[str]:
    made = result.provenance
    remarks = (
        made.partial_remark,
        made.warmup_remark,
        made.stopping_remark,
        made.live_remark,
    )
    return [each for each in remarks if each]


def batched_figures(result: Result) -> dict[str, dict[str, BatchMeans]]:
    """By link and figure, intervals of a single replication's queue and utilization.

    Only where there are enough samples and the batch means look independent. The mean stays that of
    the figure, which is exact; the series has samples of it.
    """
    if result.replications > 1 or not result.plan["sample"]:
        return {}
    begin, end = result.span()
    if (end - begin) * 1e9 / result.plan["sample"] < BATCHES * BATCH_SAMPLES:
        return {}
    out: dict[str, dict[str, BatchMeans]] = {}
    for name in result.links:
        link = result.link(name)
        figures = link.figures()
        for figure, series in BATCHED.items():
            means = link.batch_means(series, BATCHES)
            if means.independent:
                exact = dataclasses.replace(means, mean=figures[figure].mean)
                out.setdefault(name, {})[figure] = exact
    return out


def batches_sentence(from_batches: Mapping[str, Mapping[str, BatchMeans]]) -> str:
    """What ± stands for in a single replication."""
    lags = [e.lag1 for each in from_batches.values() for e in each.values()]
    largest = max((lag for lag in lags if math.isfinite(lag)), default=0.0)
    return (
        f"± of utilization and mean queue is the half width of the 95% confidence interval over "
        f"{BATCHES} batch means of the time series (lag-1 autocorrelation of the batch means up to "
        f"{largest:.2f}); it is left out where the batch means are correlated"
    )


def route_rtts(plan: Mapping[str, Any]) -> list[float]:
    """Two-way propagation delay of each route, s."""
    delays = [link["delay"] for link in plan["links"]]
    return [
        sum(delays[i] for i in (*route["forward"], *route["reverse"])) / 1e9
        for route in plan["routes"]
    ]


def warnings(result: Result) -> list[str]:
    """What makes the figures less general than they look."""
    plan = result.plan
    if result.provenance.command:
        # The plan's traffic is not what crossed it.
        return _remarks(result)
    out = [*_remarks(result), *_unlisted(result)]
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


def _together(result: Result) -> list[str]:
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


def _misread(result: Result) -> list[str]:
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


def _unheld(result: Result) -> list[str]:
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


def _unfinished(result: Result) -> int:
    return sum(f.started - len(f.completion_times) for f in result.flow_sets())
