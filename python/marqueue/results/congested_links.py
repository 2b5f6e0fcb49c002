"""Which links a page or a table shows, where a result has more than it has room for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marqueue.results.data import ResultData
from marqueue.results.link_totals import LinkTotals

CONGESTION = "most drops and marks in the measured time, or else the highest utilization"
"""The order, in words."""


def congested_links(result: ResultData, most: int) -> Sequence[str]:
    """At most so many links, in the order of the plan: all, or those with the most packets dropped
    and marked over all replications and the measured time; of equal ones the most utilized."""
    if len(result.links) <= most:
        return result.links
    totals = LinkTotals.of(result)
    number = np.arange(len(result.links))
    worst = np.lexsort((number, -totals.utilization, -totals.signals))[:most]
    return [result.links[i] for i in sorted(worst.tolist())]


def busiest_link(result: ResultData) -> str | None:
    """The link with the highest utilization, to a thousandth, over all replications and the
    measured time: the bottleneck, if there is one. Of equal ones that with the most packets dropped
    and marked; None if the network has no queue."""
    if not result.links:
        return None
    totals = LinkTotals.of(result)
    number = np.arange(len(result.links))
    order = np.lexsort((number, -totals.signals, -totals.utilization.round(3)))
    return result.links[int(order[0])]
