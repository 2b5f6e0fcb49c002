"""The measurements of many windows as columns, from which their figures are computed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Raw, numbers
from marqueue.results.figure import Columns
from marqueue.results.tables import WORK, bin_edges
from marqueue.results.window import LINK_FIGURES, Window
from marqueue.statistics.estimates import Counts, Floats
from marqueue.statistics.histograms import DelayCounts, LevelTimes


def with_figures(tables: Mapping[str, pa.Table], raws: Sequence[Raw]) -> pa.Table:
    """The table of windows with an additional column for each figure, in base units. ``tables`` are
    those of windows and of histograms, made of ``raws``."""
    columns = WindowColumns.of_tables(tables, raws)
    windows = tables["windows"]
    for figure in LINK_FIGURES:
        field = pa.field(figure.name, pa.float64(), metadata={"unit": figure.base_unit})
        values = figure.of(columns).values
        column = numbers(values, field.type, np.isnan(values))
        windows = windows.append_column(field, column)
    return windows


@dataclass(frozen=True)
class WindowColumns(Columns):
    """What figures need of windows, as :class:`~marqueue.results.window.Window` has it of one:
    arrays with a value for each window."""

    capacity: Floats
    """Bits or cycles that could be served."""
    used: Floats
    """Bits or cycles that were served."""
    arrivals: Counts
    """Packets that arrived."""
    departures: Counts
    """Packets that departed."""
    dropped: Counts
    """Packets dropped, for any reason."""
    marked: Counts
    """Packets marked, for any reason."""
    jitter_sum: Floats
    """Sums of the absolute differences between delays of consecutive departures, s."""
    levels: LevelTimes
    """Times at each length of the queues, s."""
    delays: DelayCounts
    """Queueing delays."""

    @classmethod
    def of_tables(cls, tables: Mapping[str, pa.Table], raws: Sequence[Raw]) -> WindowColumns:
        """The rows of the table of windows."""
        windows = tables["windows"]
        queue, delay = tables["queue_histogram"], tables["delay_histogram"]

        def column(name: str) -> Any:
            return _numbers(windows[name])

        return cls(
            _work(windows, 0),
            _work(windows, 1),
            column("arrivals"),
            column("departures"),
            _sum(windows, "drops_"),
            _sum(windows, "marks_"),
            column("jitter_sum"),
            LevelTimes(
                _numbers(queue["queue"]), _numbers(queue["seconds"]), bin_edges(raws, "queue_times")
            ),
            DelayCounts(
                column("departures"),
                column("delay_sum"),
                column("delay_sum_sq"),
                _numbers(delay["upper"]),
                _numbers(delay["packets"]),
                bin_edges(raws, "delay_bins"),
            ),
        )

    @classmethod
    def of_windows(cls, windows: Sequence[Window]) -> WindowColumns:
        """These windows."""
        return cls(
            np.array([w.capacity for w in windows]),
            np.array([w.used for w in windows]),
            np.array([w.arrivals for w in windows]),
            np.array([w.departures for w in windows]),
            np.array([w.dropped for w in windows]),
            np.array([w.marked for w in windows]),
            np.array([w.jitter_sum for w in windows]),
            LevelTimes.of(*(w.queue for w in windows)),
            DelayCounts.of(*(w.delays for w in windows)),
        )

    @property
    def queue_mean(self) -> Floats:
        """Mean lengths of queues over time, packets."""
        return self.levels.means

    @property
    def queue_std(self) -> Floats:
        """Standard deviations of the lengths of queues over time, packets."""
        return self.levels.stds

    def queue_quantile(self, share: float) -> Floats:
        """Lengths of queues that were not exceeded for this share of the time, packets."""
        return self.levels.quantiles(share)


def _sum(windows: pa.Table, prefix: str) -> Counts:
    total = np.zeros(len(windows), np.int64)
    for name in windows.column_names:
        if name.startswith(prefix):
            total += _numbers(windows[name])
    return total


def _work(windows: pa.Table, place: int) -> Floats:
    """The capacity or the work done: bits of links, cycles of CPUs."""
    out = np.full(len(windows), np.nan)
    for names in WORK.values():
        if names[place] in windows.column_names:
            values = _numbers(windows[names[place]])
            out = np.where(np.isnan(values), out, values)
    return out


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array; counts are signed, so that differences are."""
    values = column.to_numpy()
    return values.astype(np.int64) if values.dtype.kind in "iu" else values
