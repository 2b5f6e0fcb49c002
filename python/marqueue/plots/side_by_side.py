"""A link in two results: the queue over time, and the distribution of the queueing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.timeseries import Curve, timeseries
from marqueue.statistics.estimates import Floats

if TYPE_CHECKING:
    from marqueue.results import Result


def waiting_times(result: Result, link: str) -> tuple[Floats, Floats]:
    """The cumulative distribution of the queueing delay over the measured time and all
    replications: upper edges of bins (s), and the share of packets up to each."""
    counts: dict[float, int] = {}
    for window in result.link(link).windows():
        for upper, packets in zip(window.delays.upper, window.delays.counts, strict=True):
            counts[float(upper)] = counts.get(float(upper), 0) + int(packets)
    edges = np.array(sorted(counts))
    packets = np.array([counts[edge] for edge in edges], dtype=float)
    return edges, np.cumsum(packets) / max(packets.sum(), 1.0)


def side_by_side(a: tuple[str, Result], b: tuple[str, Result], link: str) -> Figure:
    """Draws the queue over time (line: first replication, band: range of all) and the distribution
    of the queueing delay of both results, with their names."""
    with style.themed():
        figure = Figure(figsize=(style.WIDTH, style.HEIGHT), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        curves = [
            Curve(*result.link(link).series("queue"), name)
            for name, result in (a, b)
            if result.plan["sample"]
        ]
        if curves:
            warmup = max(result.warmup for _, result in (a, b))
            timeseries(curves, "Queue", "packets", warmup=warmup, floor=0, axes=left)
        for (name, result), look in zip((a, b), style.looks(2), strict=True):
            look.pop("marker")
            edges, share = waiting_times(result, link)
            right.plot([0, *1e3 * edges], [0, *share], drawstyle="steps-post", label=name, **look)
        right.set_xlabel("Queueing delay [ms]")
        right.set_ylabel("Share of packets")
        right.set_ylim(0, 1.02)
        style.legend(right)
    return figure
