"""Charts of all links of a network together: how many are how busy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marqueue.reports.chart import Chart, ChartCurve
from marqueue.results import Result
from marqueue.results.link_totals import LinkTotals
from marqueue.statistics.estimates import Floats, ecdf

SHARE = "Share of links"


def network_charts(result: Result) -> Iterator[Chart]:
    """The distributions of utilization, signals and delay over the links with a queue, each over
    all replications and the measured time."""
    totals = LinkTotals.of(result)
    yield _chart("Utilization of links", "Utilization", totals.utilization, "links-utilization")
    signals = 100 * totals.signal_ratio
    if np.nansum(signals):
        title = "Packets dropped or marked at links"
        yield _chart(title, "Dropped or marked [%]", signals, "links-signals")
    delay = 1e3 * totals.delay
    if np.isfinite(delay).any():
        title = "Mean queueing delay of links"
        yield _chart(title, "Mean queueing delay [ms]", delay, "links-delay")


def _chart(title: str, label: str, values: Floats, name: str) -> Chart:
    x, share = ecdf(values)
    curve = ChartCurve(np.append(0.0, x), np.append(0.0, share), "")
    return Chart(title, label, SHARE, [curve], kind="step", floor=0.0, name=name)
