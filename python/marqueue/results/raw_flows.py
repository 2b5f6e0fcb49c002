"""The flows of one replication as the engine gives them: columns in memory, or records in a file
if they are very many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from marqueue._core import FlowFile
from marqueue.results.columns import Array

RawColumns = Mapping[str, Array]
"""Columns by name, one entry per flow."""

ROWS = 1 << 16
"""Rows of a part of a table of flows: 8 MB."""


def flow_count(flows: RawColumns | FlowFile) -> int:
    """Number of flows."""
    return len(flows) if isinstance(flows, FlowFile) else len(flows["start"])


def flow_columns(flows: RawColumns | FlowFile, begin: int, end: int) -> RawColumns:
    """The columns of the flows from ``begin`` to ``end`` (excluded). Raises OSError if the file of
    their records cannot be read."""
    if isinstance(flows, FlowFile):
        return flows.columns(begin, end)
    return {name: values[begin:end] for name, values in flows.items()}


def flow_parts(flows: RawColumns | FlowFile) -> Iterator[RawColumns]:
    """The columns of all flows, :data:`ROWS` of them at a time."""
    for begin in range(0, flow_count(flows), ROWS):
        yield flow_columns(flows, begin, begin + ROWS)


def whole_column(flows: RawColumns | FlowFile, name: str) -> Array | None:
    """One column of all flows, in memory; None if there is none of this name."""
    if not isinstance(flows, FlowFile):
        return flows.get(name)
    parts = [part[name] for part in flow_parts(flows) if name in part]
    return np.concatenate(parts) if parts else None
