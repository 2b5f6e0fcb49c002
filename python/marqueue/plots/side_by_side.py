"""A link in two results: the queue over time, and the distribution of the queueing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from marqueue.plots import style
from marqueue.plots.timeseries import Curve, timeseries
from marqueue.results.distributions import delay_distribution

if TYPE_CHECKING:
    from marqueue.results import Result


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
            edges, share = delay_distribution(result, link)
            right.plot([0, *1e3 * edges], [0, *share], drawstyle="steps-post", label=name, **look)
        right.set_xlabel("Queueing delay [ms]")
        right.set_ylabel("Share of packets")
        right.set_ylim(0, 1.02)
        style.legend(right)
    return figure
