"""Which links a page or a table shows, where a result has more than it has room for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marqueue.results.data import ResultData
from marqueue.results.tables import WORK
from marqueue.statistics.estimates import Floats

CONGESTION = "most drops and marks in the measured time, or else the highest utilization"
"""The order, in words."""


def congested_links(result: ResultData, most: int) -> Sequence[str]:
    """At most so many links, in the order of the plan: all, or those with the most packets dropped
    and marked over all replications and the measured time; of equal ones the most utilized."""
    if len(result.links) <= most:
        return result.links
    names = result.tables["windows"].column_names
    signals = _totals(result, [name for name in names if name.startswith(("drops_", "marks_"))])
    worst = np.lexsort((np.arange(len(signals)), -_utilizations(result), -signals))[:most]
    return [result.links[i] for i in sorted(worst.tolist())]


def busiest_link(result: ResultData) -> str | None:
    """The link with the highest utilization over all replications and the measured time: the
    bottleneck, if there is one; None if the network has no queue."""
    return result.links[int(_utilizations(result).argmax())] if result.links else None


def _utilizations(result: ResultData) -> Floats:
    """The work that each link did over what it could have done; 0 where nothing was measured."""
    names = result.tables["windows"].column_names
    units = [unit for unit in WORK.values() if unit[0] in names]
    capacity, used = (_totals(result, [unit[i] for unit in units]) for i in (0, 1))
    return np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)


def _totals(result: ResultData, columns: Sequence[str]) -> Floats:
    """The sum of columns of the table of windows for each link, over all replications and the
    measured time."""
    windows = result.tables["windows"]
    number = {name: i for i, name in enumerate(result.links)}
    link = np.array([number[name] for name in windows["link"].to_pylist()], dtype=np.int64)
    window = windows["window"].to_numpy()
    measured = (window >= result.measured.start) & (window < result.measured.stop)
    sums = np.zeros(len(number))
    for column in columns:
        values = np.nan_to_num(windows[column].to_numpy().astype(float))
        sums += np.bincount(link, np.where(measured, values, 0.0), len(number))
    return sums
