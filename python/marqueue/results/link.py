"""The measurements of one link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.link_tables import LinkTables
from marqueue.results.tables import (
    COUNTERS,
    SERIES,
    WORK,
)
from marqueue.results.window import LINK_FIGURES, Window, merge, share_figures
from marqueue.results.window_columns import WindowColumns
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.statistics.histograms import Delays
from marqueue.statistics.output_analysis import BatchMeans

FIGURES = {f.name: f for f in LINK_FIGURES}


class Link:
    """The measurements of one link in all replications and windows."""

    def __init__(self, tables: LinkTables, name: str, measured: range) -> None:
        self.name = name
        #: The link's entry in the plan: rate in bit/s, delay in ns, queue with policy and limit.
        self.plan: Mapping[str, Any] = tables.entries[name]
        self.measured = measured
        self._boundaries: Sequence[int] = tables.boundaries
        self._tables = tables
        self._figures: dict[tuple[int | None, float], dict[str, Estimate]] = {}
        #: The unit of its work: bits, or cycles of a CPU.
        self.unit = "cycles" if self.plan.get("cpu") else "bits"

    @cached_property
    def _data(self) -> dict[str, pa.Table]:
        return self._tables.of(self.name)

    @property
    def replications(self) -> int:
        """The number of replications."""
        return len(self.by_replication)

    @cached_property
    def units(self) -> dict[str, str]:
        """The names of the time series with their units: first those of the queue, then probes."""
        series = self._data["series"]
        return {
            f.name: f.metadata[b"unit"].decode()
            for f in series.schema
            if f.name not in ("replication", "link", "t")
            and (f.name in SERIES or series[f.name].null_count < series.num_rows)
        }

    @property
    def tc(self) -> list[str]:
        """What ``tc -s`` says of a kernel's qdisc at the end of each replication."""
        return self._data["qdiscs"]["tc"].to_pylist() if "qdiscs" in self._data else []

    @property
    def probes(self) -> list[str]:
        """The internal variables of the AQM that were recorded."""
        return [name for name in self.units if name not in SERIES]

    def series(self, name: str) -> tuple[Floats, Floats]:
        """A time series: (t, values[replication, sample]).

        ``t`` is in s. ``queue`` (packets) and ``queue_bytes`` (bytes) are the queue at ``t``,
        without the packet in transmission. ``utilization`` (share of the capacity), ``drops`` and
        ``marks`` (packets) cover the time since the previous sample. All other names are those of
        :attr:`probes`. Samples that a replication did not reach are NaN. Raises KeyError.
        """
        table = self._data["series"]
        if name not in self.units:
            raise KeyError(f"series {name!r}, expected one of: {', '.join(self.units)}")
        lengths = np.bincount(table["replication"].to_numpy(), minlength=self.replications)
        longest = int(lengths.argmax())
        there = np.arange(lengths[longest]) < lengths[:, np.newaxis]
        values = np.full(there.shape, np.nan)
        values[there] = table[name].to_numpy()
        return table["t"].to_numpy()[lengths[:longest].sum() :][: lengths[longest]], values

    def batch_means(
        self, name: str, batches: int = 20, replication: int = 0, confidence: float = 0.95
    ) -> BatchMeans:
        """The mean of a time series of one replication after the warm-up, by batch means.

        ``name`` is the name of a series, not of a figure. The estimate's ``lag1`` shows whether the
        batches are long enough. Raises ValueError if there are fewer samples than batches.
        """
        t, values = self.series(name)
        begin = self._boundaries[0] / 1e9 if self.measured.start else 0.0
        return BatchMeans.over(values[replication, t > begin], batches, confidence)

    @cached_property
    def by_replication(self) -> list[list[Window]]:
        """The windows that each replication reached."""
        rows = self._data["windows"].to_pylist()
        queue = _split(self._data["queue_histogram"], ("queue", "seconds"))
        delay = _split(self._data["delay_histogram"], ("upper", "packets"))
        groups = self._groups()
        capacity, used = WORK[self.unit]
        out: list[list[Window]] = []
        for row in rows:
            key = (row["replication"], row["window"])
            levels, seconds = queue.get(key, (np.empty(0, int), np.empty(0)))
            times = np.zeros(int(levels[-1]) + 1 if len(levels) else 0)
            times[levels] = seconds
            upper, counts = delay.get(key, (np.empty(0), np.empty(0, np.int64)))
            window = Window(
                seconds=row["end"] - row["begin"],
                **{name: row[name] for name in COUNTERS},
                capacity=row[capacity],
                used=row[used],
                jitter_sum=row["jitter_sum"],
                drops=_by_reason(row, "drops_"),
                marks=_by_reason(row, "marks_"),
                queue=times,
                delays=Delays(
                    row["departures"],
                    row["delay_sum"],
                    row["delay_sum_sq"],
                    upper,
                    counts.astype(np.int64),
                ),
                groups=groups.get(key, {}),
            )
            if row["window"] == 0:
                out.append([])
            out[-1].append(window)
        return out

    def _groups(self) -> dict[tuple[int, int], dict[str, float]]:
        """The work done for each group of traffic, by (replication, window)."""
        out: dict[tuple[int, int], dict[str, float]] = {}
        for row in self._data["shares"].to_pylist() if "shares" in self._data else ():
            key = (row["replication"], row["window"])
            out.setdefault(key, {})[row["group"]] = row[WORK[self.unit][1]]
        return out

    def windows(self, window: int | None = None) -> list[Window]:
        """The measurements in one window (None: in the measured time), one per replication."""
        if window is not None:
            return [w[window] for w in self.by_replication if window < len(w)]
        measured = (w[self.measured.start : self.measured.stop] for w in self.by_replication)
        return [merge(w) for w in measured if w]

    def values(self, figure: str, window: int | None = None) -> Floats:
        """A figure of each replication, in base units (see :meth:`figures`)."""
        return FIGURES[figure].of(WindowColumns.of_windows(self.windows(window))).values

    def figures(self, window: int | None = None, confidence: float = 0.95) -> dict[str, Estimate]:
        """All figures by name, estimated over replications; base units: s, packets, shares.

        utilization, loss_ratio (dropped/arrived packets), mark_ratio (marked/departed), drops,
        marks, queue_* (time-weighted, packets, without the one in transmission), delay_* (s, from
        arrival to the start of the transmission), jitter (s, mean absolute difference of the
        queueing delays of consecutive departures).
        """
        key = (window, confidence)
        if key not in self._figures:
            columns = WindowColumns.of_windows(self.windows(window))
            self._figures[key] = {f.name: f.estimate(columns, confidence) for f in LINK_FIGURES}
        return dict(self._figures[key])

    def shares(
        self, window: int | None = None, confidence: float = 0.95
    ) -> dict[str, dict[str, Estimate]]:
        """The work done for each group of traffic; empty in a scenario without CPUs.

        By group ``rate`` (bit/s, or cycles/s of a CPU) and ``share`` (of the capacity).
        """
        windows = self.windows(window)
        return {
            group: {f.name: f.estimate(windows, confidence) for f in share_figures(group)}
            for group in (windows[0].groups if windows else ())
        }

    def reasons(
        self, of: str, window: int | None = None, confidence: float = 0.95
    ) -> dict[str, Estimate]:
        """Packets dropped (``of="drops"``) or marked (``of="marks"``) by reason."""
        counts: Sequence[dict[str, int]] = [getattr(w, of) for w in self.windows(window)]
        names = _by_reason(dict.fromkeys(self._data["windows"].column_names), f"{of}_")
        return {name: Estimate.of([c[name] for c in counts], confidence) for name in names}


def _split(table: pa.Table, columns: tuple[str, str]) -> dict[tuple[int, int], tuple[Any, Any]]:
    """Two columns of a histogram table by (replication, window); equal keys are contiguous."""
    replication, window = (table[c].to_numpy() for c in ("replication", "window"))
    first, second = (table[c].to_numpy() for c in columns)
    changes = np.flatnonzero(np.diff(replication) | np.diff(window)) + 1
    edges = [0, *changes.tolist(), len(replication)]
    return {
        (int(replication[b]), int(window[b])): (first[b:e], second[b:e])
        for b, e in pairwise(edges)
        if b < e
    }


def _by_reason(row: Mapping[str, Any], prefix: str) -> dict[str, int]:
    return {k.removeprefix(prefix): n for k, n in row.items() if k.startswith(prefix)}
