"""The impairments that packets met on one link, behind its transmitter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from marqueue.results.figure import Figure
from marqueue.results.rows import rows_where
from marqueue.statistics.estimates import Estimate

#: The sums of a pipe over a window, with type and unit.
PIPE_SUMS = {
    "packets": (pa.uint64(), "packets"),
    "lost": (pa.uint64(), "packets"),
    "reordered": (pa.uint64(), "packets"),
    "overtakings": (pa.uint64(), "packets"),
    "extra_delay": (pa.float64(), "s"),
}


@dataclass(frozen=True)
class PipeWindow:
    """Sums over the packets due at the far end of a pipe within a window; adding two merges
    them."""

    packets: int
    lost: int
    #: Packets that were overtaken by later ones (RFC 4737, section 4.1).
    reordered: int
    #: Pairs of packets of which the later one overtook the other.
    overtakings: int
    #: Total delay beyond propagation, s.
    extra_delay: float

    def __add__(self, other: PipeWindow) -> PipeWindow:
        return PipeWindow(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def arrived(self) -> int:
        """Packets that were not lost."""
        return self.packets - self.lost


#: All figures of a pipe, in the order of reports.
PIPE_FIGURES: tuple[Figure[PipeWindow], ...] = (
    Figure("packets", "Packets that entered the wire", "", lambda w: w.packets),
    Figure("lost", "Packets lost on the wire", "", lambda w: w.lost),
    Figure("wire_loss_ratio", "Loss ratio on the wire", "", lambda w: w.lost, lambda w: w.packets),
    Figure("reordered_ratio", "Reordered, share", "", lambda w: w.reordered, lambda w: w.arrived),
    # RFC 4737, section 4.2; differs for packets that were overtaken by packets that are late too.
    Figure(
        "reordering_extent",
        "Reordering extent, mean",
        "packets",
        lambda w: w.overtakings,
        lambda w: w.reordered,
    ),
    Figure(
        "extra_delay",
        "Extra delay, mean",
        "ms",
        lambda w: w.extra_delay,
        lambda w: w.arrived,
        scale=1e3,
    ),
)


class Pipe:
    """The pipe of one impaired link in all replications and windows."""

    def __init__(
        self, plan: Mapping[str, Any], table: pa.Table, name: str, measured: range
    ) -> None:
        self.name = name
        #: The link's entry in the plan; its impairments are under ``pipe``.
        self.plan: Mapping[str, Any] = next(e for e in plan["links"] if e["name"] == name)
        self.measured = measured
        self._windows: list[list[PipeWindow]] = []
        for row in rows_where(table, "link", name).to_pylist():
            if row["window"] == 0:
                self._windows.append([])
            self._windows[-1].append(PipeWindow(*(row[count] for count in PIPE_SUMS)))

    def windows(self, window: int | None = None) -> list[PipeWindow]:
        """The sums in one window (None: in the measured time), one per replication."""
        if window is None:
            return [
                reduce(PipeWindow.__add__, (w[i] for i in self.measured)) for w in self._windows
            ]
        return [w[window] for w in self._windows]

    def figures(self, window: int | None = None, confidence: float = 0.95) -> dict[str, Estimate]:
        """All figures by name, estimated over replications; base units: s, packets, shares.

        packets, lost, wire_loss_ratio (lost on the wire/entered), reordered_ratio (overtaken by
        later ones/arrived), reordering_extent (by how many), extra_delay (s, beyond propagation).
        """
        windows = self.windows(window)
        return {f.name: f.estimate(windows, confidence) for f in PIPE_FIGURES}
