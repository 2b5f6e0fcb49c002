"""The tables of links, divided by link once for all links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.statistics.estimates import Floats

TABLES = ("series", "windows", "queue_histogram", "delay_histogram", "shares", "qdiscs")


class LinkTables:
    """What was measured at each link of a result, in time that does not grow with the square of
    their number."""

    def __init__(self, plan: Mapping[str, Any], data: Mapping[str, pa.Table]) -> None:
        self.boundaries: list[int] = plan["boundaries"]
        #: The plan's entry of each link by name; the first, if a name is there twice.
        self.entries: dict[str, Mapping[str, Any]] = {
            each["name"]: each for each in reversed(plan["links"])
        }
        self._is_alone = sum(1 for each in plan["links"] if each.get("queue")) == 1
        self._data = {table: data[table] for table in TABLES if table in data}
        self._rows: dict[str, dict[str, Floats]] = {}

    def of(self, name: str) -> dict[str, pa.Table]:
        """The rows of one link in all tables."""
        if self._is_alone:
            return dict(self._data)
        return {table: self._part(table, name) for table in self._data}

    def _part(self, table: str, name: str) -> pa.Table:
        if table not in self._rows:
            self._rows[table] = _rows_by_link(self._data[table])
        whole, rows = self._data[table], self._rows[table].get(name)
        if rows is None:
            return whole.slice(0, 0)
        # Those of one link and one replication are together: a part of the table instead of a copy.
        first, last = int(rows[0]), int(rows[-1])
        if last - first == len(rows) - 1:
            return whole.slice(first, len(rows))
        return whole.take(rows)


def _rows_by_link(table: pa.Table) -> dict[str, Any]:
    """The numbers of the rows of each link, in their order."""
    if table.num_rows == 0:
        return {}
    column = table["link"]
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # All chunks have one dictionary; the names themselves may be too long for one array.
    encoded = column.unify_dictionaries().combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary)))
    parts = np.split(order, ends[:-1])
    return dict(zip(encoded.dictionary.to_pylist(), parts, strict=True))
