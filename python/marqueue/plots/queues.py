"""Queues over time: one panel per quantity, one curve per link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.result_plots import LABELS
from marqueue.plots.timeseries import Curve, timeseries
from marqueue.statistics.estimates import Floats

QUANTITIES = ("rate", "utilization", "queue", "delay_p50", "delay_p99", "drops", "marks")
"""Series that are drawn if they exist and are not all zero."""


@dataclass(frozen=True)
class Series:
    """``values[replication, sample]`` at the times ``t`` (s); one replication may be a 1-D
    array."""

    t: Floats
    values: Floats
    unit: str


def queues(links: Mapping[str, Mapping[str, Series]]) -> Figure:
    """Draws the series of each link. The utilization is left out if there is a rate."""
    there = [
        name
        for name in QUANTITIES
        if any(name in series and series[name].values.any() for series in links.values())
    ]
    if "rate" in there:
        there = [name for name in there if name != "utilization"]
    figure, panels = style.panels(max(len(there), 1), height=1.6)
    for panel, name in zip(panels, there, strict=False):
        shown = {link: series[name] for link, series in links.items() if name in series}
        unit = next(iter(shown.values())).unit
        unit, scale = style.SHOWN.get(unit, (unit, 1.0))
        timeseries(
            [Curve(each.t, each.values * scale, link) for link, each in shown.items()],
            LABELS[name],
            unit,
            floor=0.0,
            axes=panel,
        )
        panel.label_outer()
    return figure
