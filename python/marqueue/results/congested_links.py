"""Which links a page or a table shows, where a result has more than it has room for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marqueue.results.data import ResultData
from marqueue.results.tables import WORK

CONGESTION = "most drops and marks in the measured time, or else the highest utilization"
"""The order, in words."""


def congested_links(result: ResultData, most: int) -> Sequence[str]:
    """At most so many links, in the order of the plan: all, or those with the most packets dropped
    and marked over all replications and the measured time; of equal ones the most utilized."""
    if len(result.links) <= most:
        return result.links
    windows = result.tables["windows"]
    number = {name: i for i, name in enumerate(result.links)}
    names_of_rows = windows["link"].combine_chunks().dictionary_encode()
    place = np.array([number[name] for name in names_of_rows.dictionary.to_pylist()])
    link = place[names_of_rows.indices.to_numpy()]
    window = windows["window"].to_numpy()
    measured = (window >= result.measured.start) & (window < result.measured.stop)

    def total(columns: Sequence[str]) -> np.ndarray:
        sums = np.zeros(len(number))
        for column in columns:
            values = np.nan_to_num(windows[column].to_numpy().astype(float))
            sums += np.bincount(link, np.where(measured, values, 0.0), len(number))
        return sums

    names = windows.column_names
    signals = total([name for name in names if name.startswith(("drops_", "marks_"))])
    units = [unit for unit in WORK.values() if unit[0] in names]
    capacity, used = (total([unit[i] for unit in units]) for i in (0, 1))
    share = np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)
    worst = np.lexsort((np.arange(len(number)), -share, -signals))[:most]
    return [result.links[i] for i in sorted(worst.tolist())]
