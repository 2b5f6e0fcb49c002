"""The flows of a result that has too many of them for a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from marqueue.results.flow_sums import FlowSums, Wanted, flow_sums
from marqueue.statistics.estimates import Floats
from marqueue.statistics.sketch import ERROR

MANY = 500_000
"""Flows over all replications. Up to here they are a table in memory, and all figures are exact;
with more, quantiles come from sketches."""


MOST_AT_ONCE = 256
"""Groups, classes or pairs of both whose sums are made in one pass over the flows, and kept."""
MOST_TOGETHER = 4096
"""Those whose sums are made in one pass over the flows and not kept: some megabytes."""


class Rows(Protocol):
    """A table that can be had by parts."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    def table(self) -> pa.Table:
        """The whole table."""

    def parts(self) -> Iterator[pa.Table]:
        """The table by parts."""


class ManyFlows:
    """Flows by parts of their table, which are made or read when they are needed."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._sums: dict[Wanted, list[FlowSums]] = {}

    @property
    def num_rows(self) -> int:
        """Number of flows."""
        return self._rows.num_rows

    def table(self) -> pa.Table:
        """All of them, in memory."""
        return self._rows.table()

    def parts(self) -> Iterator[pa.Table]:
        """The table by parts, of which only one needs to be in memory."""
        return self._rows.parts()

    def equals(self, other: ManyFlows | None) -> bool:
        """Whether the flows of another result are the same."""
        return other is not None and all(
            a.equals(b) for a, b in zip(self.parts(), other.parts(), strict=True)
        )

    def sums(
        self, wanted: Wanted, usual: Callable[[], Sequence[Wanted]], ends: Floats
    ) -> list[FlowSums]:
        """The sums of a selection of flows in a part of time, one entry per replication that
        reached it.

        The first time, those that are ``usual`` are made too, since all parts of the table are read
        for one as for many. ``ends[r]`` is the end of replication ``r`` (s).
        """
        if wanted not in self._sums:
            more = [] if self._sums else usual()
            self._sums |= flow_sums(self.parts(), dict.fromkeys([wanted, *more]), ends)
        return self._sums[wanted]

    @property
    def remark(self) -> str:
        """Which figures are not exact, as a sentence."""
        return (
            f"With {self.num_rows:,} flows, quantiles of completion times are within {ERROR:.0%} "
            "of the exact ones"
        )
