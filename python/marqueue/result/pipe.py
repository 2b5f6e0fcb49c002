"""One impaired link of a result: what its pipe did to packets behind the transmitter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from marqueue.result.window import Figure
from marqueue.stats import Estimate

#: The counts of a pipe over a window, in packets.
PIPE_COUNTS = ("packets", "lost")


@dataclass(frozen=True)
class PipeWindow:
    """Counts of one pipe over one span of time, of the packets due at its far end then; adding two
    merges them."""

    packets: int
    lost: int

    def __add__(self, other: PipeWindow) -> PipeWindow:
        return PipeWindow(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


#: All figures of a pipe, in the order of reports.
PIPE_FIGURES: tuple[Figure[PipeWindow], ...] = (
    Figure("packets", "Packets that entered the wire", "", lambda w: w.packets),
    Figure("lost", "Packets lost on the wire", "", lambda w: w.lost),
    Figure("wire_loss_ratio", "Loss ratio on the wire", "", lambda w: w.lost, lambda w: w.packets),
)


class Pipe:
    """What the pipe of one impaired link did, over all replications and windows."""

    def __init__(
        self, plan: Mapping[str, Any], table: pa.Table, name: str, measured: range
    ) -> None:
        self.name = name
        #: The link's entry in the plan; its impairments are under ``pipe``.
        self.plan: Mapping[str, Any] = next(e for e in plan["links"] if e["name"] == name)
        self.measured = measured
        self._windows: list[list[PipeWindow]] = []
        for row in table.filter(pc.equal(table["link"], name)).to_pylist():
            if row["window"] == 0:
                self._windows.append([])
            self._windows[-1].append(PipeWindow(*(row[count] for count in PIPE_COUNTS)))

    def windows(self, window: int | None = None) -> list[PipeWindow]:
        """What each replication counted in a window; None: in the measured time."""
        if window is None:
            return [
                reduce(PipeWindow.__add__, (w[i] for i in self.measured)) for w in self._windows
            ]
        return [w[window] for w in self._windows]

    def figures(self, window: int | None = None, confidence: float = 0.95) -> dict[str, Estimate]:
        """All figures by name, estimated over replications: packets, lost, wire_loss_ratio (lost
        on the wire/entered)."""
        windows = self.windows(window)
        return {f.name: f.estimate(windows, confidence) for f in PIPE_FIGURES}
