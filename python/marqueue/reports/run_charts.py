"""The charts of a result: links over time, distributions, senders, shares of capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from marqueue.reports.chart import Chart, ChartCurve, Choice
from marqueue.reports.curves import over_replications, replication_choice
from marqueue.reports.network_charts import network_charts
from marqueue.results.congested_links import busiest_link, congested_links
from marqueue.results.distributions import delay_distribution, queue_distribution
from marqueue.results.quantities import SERIES_LABELS, axis_label, series_label, shown_unit
from marqueue.results.rows import rows_where
from marqueue.statistics.estimates import Floats, ecdf
from marqueue.statistics.sketch import QuantileSketch

if TYPE_CHECKING:
    from marqueue.results import Result, ResultData

#: Links with charts, the most congested ones; others are only in the tables.
MOST_LINKS_DRAWN = 12
#: Traced flows with charts, and those that are shown at first.
MOST_SENDERS_DRAWN, SENDERS_SHOWN = 12, 4
#: Groups and classes of flows with distributions of their own.
MOST_CURVES_OF_FLOWS = 12

#: Series that are measured between two samples, not inside the AQM.
OBSERVED = {
    "rate": "Departures since the previous sample",
    "delay_p50": "Queueing delay since the previous sample, median",
    "delay_p99": "Queueing delay since the previous sample, 99th percentile",
    "utilization": "Utilization in each sample",
    "drops": "Packets dropped in each sample",
    "marks": "Packets marked in each sample",
}
#: Series that have a chart only if they are not zero throughout.
ONLY_IF_ANY = ("drops", "marks")
TIME = "Time [s]"
#: A threshold so many times higher than any window was never reached.
HIGH_THRESHOLD = 4


def run_charts(result: Result) -> list[Chart]:
    """All charts of a result."""
    return [
        *_over_time(result),
        *_senders(result),
        *_paced(result),
        *_media(result),
        *_windows(result),
        *_distributions(result),
        *_of_network(result),
        *_of_flows(result),
        *_shares(result),
    ]


def run_choices(result: Result) -> list[Choice]:
    """What a reader chooses among: links, replications, traced flows."""
    links = list(congested_links(result, MOST_LINKS_DRAWN))
    first = busiest_link(result)
    flows = list(_traced(result).values())
    return [
        Choice("link", "Links", links, [first] if first in links else links[:1]),
        replication_choice(result.replications),
        Choice("flow", "Flows", flows, flows[:SENDERS_SHOWN]),
    ]


def time_chart(
    result: ResultData, title: str, quantity: str, curves: Sequence[ChartCurve], name: str = ""
) -> Chart:
    """A chart over time with the warm-up and the windows of a result."""
    return Chart(
        title,
        TIME,
        quantity,
        curves,
        over_time=True,
        until=float(result.edges[-1]),
        shade_until=result.warmup,
        cuts=[float(result.edges[w]) for w in result.measured[1:]],
        name=name,
    )


def time_marks(result: ResultData) -> str:
    """What is marked on the axes of time, in words."""
    parts = ["Grey: warm-up." if result.warmup else ""]
    if len(result.measured) > 1:
        parts.append("Dotted: where one measuring window ends and the next begins.")
    return " ".join(filter(None, parts))


def _over_time(result: Result) -> Iterator[Chart]:
    """A chart for each series of links. The queue in bytes is left to the tables."""
    if not result.plan["sample"]:
        return
    links = [result.link(name) for name in congested_links(result, MOST_LINKS_DRAWN)]
    names = dict.fromkeys(name for link in links for name in link.units)
    for name in names:
        having = [link for link in links if name in link.units]
        if name == "queue_bytes":
            continue
        unit, scale = shown_unit(having[0].units[name])
        named = name in SERIES_LABELS
        series = [(link, *link.series(name)) for link in having]
        if name in ONLY_IF_ANY and not any(values.any() for *_, values in series):
            continue
        curves = [
            curve
            for link, t, values in series
            for curve in over_replications(
                t, values * scale, {"link": link.name}, floor=0.0 if named else -np.inf
            )
        ]
        aqms = {str(link.plan["queue"]["policy"]["name"]) for link in having}
        inside = f"Inside {' and '.join(sorted(aqms))}: {series_label(name)}"
        title = OBSERVED.get(name, SERIES_LABELS.get(name, inside))
        chart = time_chart(result, title, axis_label(series_label(name), unit), curves, name)
        yield _floored(chart) if named else chart


def _floored(chart: Chart) -> Chart:
    return replace(chart, floor=0.0)


def _traced(result: Result) -> dict[int, str]:
    """The first traced flows by number, with their names: the group, and the number if the group
    has several flows."""
    numbers: list[int] = []
    for name in ("tcp", "paced", "media"):
        if name in result.tables:
            table = result.to_arrow(name)
            first = rows_where(table, "replication", 0)
            numbers += first["flow"].unique().to_pylist()
    if not numbers:
        return {}
    flows = rows_where(result.flows, "replication", 0)
    groups = dict(zip(flows["flow"].to_pylist(), flows["group"].to_pylist(), strict=True))
    of_group = list(groups.values())
    alone = {group for group in set(of_group) if of_group.count(group) == 1}
    return {
        flow: groups[flow] if groups[flow] in alone else f"{groups[flow]} {flow}"
        for flow in sorted(numbers)[:MOST_SENDERS_DRAWN]
    }


def _sender_curves(
    result: Result, table_name: str, of: Callable[[dict[str, Floats]], dict[str, Floats]]
) -> list[ChartCurve]:
    """Curves of traced flows of the first replication, each from columns of a table."""
    table = result.to_arrow(table_name)
    table = rows_where(table, "replication", 0)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    curves = []
    for flow, label in _traced(result).items():
        here = columns["flow"] == flow
        if not here.any():
            continue
        made = of({name: each[here] for name, each in columns.items()})
        curves += [
            ChartCurve(columns["t"][here], y, name, {"flow": label, "replication": "1"})
            for name, y in made.items()
            if np.isfinite(y).any()
        ]
    return curves


def _reached(threshold: Floats, window: Floats) -> Floats:
    """The threshold, once it is of the windows' size: until the first loss it has no meaning, and
    its value would hide them."""
    return np.where(threshold <= HIGH_THRESHOLD * window.max(), threshold, np.nan)


#: Charts of TCP senders: name, title, axis, and curves by name from the columns of the table.
SENDERS: tuple[tuple[str, str, str, Callable[[dict[str, Floats]], dict[str, Floats]]], ...] = (
    (
        "cwnd",
        "Windows of traced flows",
        "Window [packets]",
        lambda t: {"cwnd": t["cwnd"], "ssthresh": _reached(t["ssthresh"], t["cwnd"])},
    ),
    (
        "rtt",
        "Round-trip times of traced flows",
        "Time [ms]",
        lambda t: {"latest RTT": 1e3 * t["rtt"], "smoothed RTT": 1e3 * t["srtt"]},
    ),
    (
        "flow-rate",
        "Rates of traced flows: cwnd over smoothed RTT",
        "Rate [packets/s]",
        lambda t: {"rate": t["cwnd"] / np.where(t["srtt"] > 0, t["srtt"], np.nan)},
    ),
    (
        "rto",
        "Retransmission timeouts of traced flows",
        "Time [ms]",
        lambda t: {"timeout": 1e3 * t["rto"]},
    ),
)


def _senders(result: Result) -> Iterator[Chart]:
    if "tcp" not in result.tables:
        return
    for name, title, quantity, of in SENDERS:
        curves = _sender_curves(result, "tcp", of)
        if curves:
            yield _stepped(_floored(time_chart(result, title, quantity, curves, name)))


def _paced(result: Result) -> Iterator[Chart]:
    if "paced" in result.tables:
        curves = _sender_curves(result, "paced", lambda t: {"rate": t["rate"] / 1e6})
        title = "Sending rates of traced paced flows"
        chart = time_chart(result, title, "Rate [Mbit/s]", curves, "paced-rate")
        yield _stepped(_floored(chart))


def _media(result: Result) -> Iterator[Chart]:
    """What encoders were asked for, and how long frames took."""
    if "media" in result.tables:
        curves = _sender_curves(result, "media", lambda t: {"target": t["target"] / 1e6})
        title = "Rates asked of the encoders of traced media flows"
        yield _stepped(_floored(time_chart(result, title, "Rate [Mbit/s]", curves, "media-rate")))
    if "frames" in result.tables:
        first = rows_where(result.to_arrow("frames"), "replication", 0)
        column = {name: first[name].to_numpy() for name in ("flow", "made", "shown")}
        curves = [
            ChartCurve(column["made"][here], delay[here], f"flow {flow}", {"replication": "1"})
            for delay in [1e3 * (column["shown"] - column["made"])]
            for flow in np.unique(column["flow"])[:SENDERS_SHOWN]
            for here in [(column["flow"] == flow) & np.isfinite(delay)]
        ]
        title = "Delay of frames"
        yield _floored(time_chart(result, title, "Delay [ms]", curves, "frame-delay"))


def _stepped(chart: Chart) -> Chart:
    return replace(chart, kind="step")


def _windows(result: Result) -> Iterator[Chart]:
    """The sums of windows of groups of flows, where they were sampled."""
    if "cwnd" not in result.tables:
        return
    table = result.to_arrow("cwnd")
    first = rows_where(table, "replication", 0)
    groups = np.array(first["group"].to_pylist(), dtype=object)
    t, total = first["t"].to_numpy(), first["sum"].to_numpy()
    curves = [
        ChartCurve(t[groups == each], total[groups == each], str(each), {"replication": "1"})
        for each in dict.fromkeys(groups.tolist())
    ]
    title = "Sum of the windows of all flows of a group"
    yield _floored(time_chart(result, title, "Windows [packets]", curves, "window-sum"))


def _distributions(result: Result) -> Iterator[Chart]:
    """The queue over time and the queueing delay of packets, over the measured time."""
    if not result.measured:
        return
    windows: list[int | None] = list(result.measured) if len(result.measured) > 1 else [None]
    queues, delays = [], []
    for name in congested_links(result, MOST_LINKS_DRAWN):
        for w in windows:
            share = queue_distribution(result, name, w)
            begin, end = result.span(w)
            label = f"{begin:g} to {end:g} s" if w is not None else ""
            x = np.arange(len(share) + 1, dtype=float) - 0.5
            queues.append(ChartCurve(x, np.append(share, 0.0), label, {"link": name}))
        queues = [each for each in queues if len(each.y) > 1]
        upper, packets = delay_distribution(result, name)
        if len(upper):
            delays.append(distribution(1e3 * upper, packets, {"link": name}))
    if queues:
        yield Chart(
            "Share of time at each queue length",
            "Queue [packets]",
            "Share of time",
            queues,
            kind="step",
            floor=0.0,
            name="queue-histogram",
        )
    if delays:
        yield Chart(
            "Distribution of the queueing delay",
            "Queueing delay [ms]",
            "Share of packets",
            delays,
            kind="step",
            floor=0.0,
            name="cdf",
        )


def _of_network(result: Result) -> Iterator[Chart]:
    """All links together, where they are too many for charts of their own."""
    if len(result.links) > MOST_LINKS_DRAWN and result.measured:
        yield from network_charts(result)


def distribution(upper: Floats, share: Floats, tags: dict[str, str], name: str = "") -> ChartCurve:
    """The curve of a cumulative distribution from its steps."""
    return ChartCurve(np.append(0.0, upper), np.append(0.0, share), name, tags)


def _of_flows(result: Result) -> Iterator[Chart]:
    """Completion times of finite flows and goodputs of long flows, by group and class."""
    groups: list[str | None] = list(result.groups)
    classes: list[str | None] = list(result.classes)
    # A network with thousands of classes is not divided by them: each part reads all flows.
    if len(groups) * len(classes) > MOST_CURVES_OF_FLOWS**2:
        classes = [None]
    if len(groups) > MOST_CURVES_OF_FLOWS:
        groups = [None]
    parts = {
        (group or "", class_ or ""): result.measured_flows(group=group, class_=class_)
        for group in groups
        for class_ in classes
    }

    def curves(of: Callable[[Any], Values], unit: float = 1.0) -> list[ChartCurve]:
        values = {
            part: [found for each in sets if len(found := of(each))] for part, sets in parts.items()
        }
        return [
            ChartCurve(np.append(x[0], x) / unit, np.append(0.0, share), name)
            for name, each in _divided({k: v for k, v in values.items() if v}).items()
            for x, share in [_distribution(each)]
        ]

    settings: dict[str, Any] = {"kind": "step", "floor": 0.0}
    finished = curves(lambda flows: flows.completion_times)
    if finished:
        yield Chart(
            "Flow completion times",
            "Flow completion time [s]",
            "Share of flows",
            finished,
            x_scale="log",
            name="fct-cdf",
            **settings,
        )
    long = curves(lambda flows: flows.long_rates, 1e6)
    if long:
        yield Chart(
            "Goodput of each long flow over the measured time",
            "Goodput of a long flow [Mbit/s]",
            "Share of flows",
            long,
            name="goodput-cdf",
            **settings,
        )


Values = Floats | QuantileSketch
"""Values of flows, or a sketch of very many."""


def _distribution(parts: Sequence[Values]) -> tuple[Floats, Floats]:
    """The empirical distribution of some values, at least one."""
    sketches = [each for each in parts if isinstance(each, QuantileSketch)]
    if sketches:
        return sum(sketches[1:], sketches[0]).distribution()
    return ecdf(np.concatenate([each for each in parts if not isinstance(each, QuantileSketch)]))


def _divided(values: Mapping[tuple[str, str], list[Values]]) -> dict[str, list[Values]]:
    """Values of flows by what tells them apart: group, class or both, as far as there is room."""
    groups = {group for group, _ in values}
    classes = {class_ for _, class_ in values}
    names: list[Callable[[str, str], str]] = [
        lambda group, class_: (class_ if len(groups) == 1 else group) or "all flows",
        lambda group, class_: "all flows",
    ]
    if len(groups) > 1 and len(classes) > 1:
        names.insert(0, lambda group, class_: f"{group}, {class_}")
    for name in names:
        out: dict[str, list[Values]] = {}
        for part, each in values.items():
            out.setdefault(name(*part), []).extend(each)
        if len(out) <= MOST_CURVES_OF_FLOWS:
            break
    return out


def _shares(result: Result) -> Iterator[Chart]:
    """Shares of the capacity of CPUs and links by group of traffic, in scenarios with a CPU."""
    shares = {
        name: result.link(name).shares() for name in congested_links(result, MOST_LINKS_DRAWN)
    }
    groups = list(next(iter(shares.values()), {}))
    if not groups:
        return
    curves = []
    for i, (name, of) in enumerate(shares.items()):
        estimates = [of[group]["share"] for group in groups]
        mean = np.array([each.mean for each in estimates])
        half_width = np.array([each.half_width or 0.0 for each in estimates])
        # Beside each other, so that no interval hides another.
        x = np.arange(len(groups), dtype=float) + 0.4 * ((i + 0.5) / len(shares) - 0.5)
        curves.append(ChartCurve(x, mean, name, band=(mean - half_width, mean + half_width)))
    yield Chart(
        "Shares of the capacity of CPUs and links, by group of traffic",
        "Group of traffic",
        "Share of the capacity",
        curves,
        kind="scatter",
        floor=0.0,
        x_names=groups,
        name="shares",
    )
