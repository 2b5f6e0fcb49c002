"""The measurements of all links in all windows as columns, from which their figures are computed
together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Raw, numbers
from marqueue.results.tables import WORK, bin_edges
from marqueue.results.window import LINK_FIGURES
from marqueue.statistics.estimates import Counts, Floats
from marqueue.statistics.histograms import DelayCounts, LevelTimes


def with_figures(tables: Mapping[str, pa.Table], raws: Sequence[Raw]) -> pa.Table:
    """The table of windows with an additional column for each figure, in base units. ``tables`` are
    those of windows and of histograms, made of ``raws``."""
    columns = WindowColumns(tables, raws)
    windows = tables["windows"]
    for figure in LINK_FIGURES:
        field = pa.field(figure.name, pa.float64(), metadata={"unit": figure.base_unit})
        values = figure.values(columns)
        column = numbers(values, field.type, np.isnan(values))
        windows = windows.append_column(field, column)
    return windows


class WindowColumns:
    """What figures need of windows, as :class:`~marqueue.results.window.Window` has it of one: an
    array with a value for each row of the table of windows."""

    def __init__(self, tables: Mapping[str, pa.Table], raws: Sequence[Raw]) -> None:
        self._windows = tables["windows"]
        queue, delay = tables["queue_histogram"], tables["delay_histogram"]
        self._levels = LevelTimes(
            _numbers(queue["queue"]), _numbers(queue["seconds"]), bin_edges(raws, "queue_times")
        )
        #: Queueing delays.
        self.delays = DelayCounts(
            self._column("departures"),
            self._column("delay_sum"),
            self._column("delay_sum_sq"),
            _numbers(delay["upper"]),
            _numbers(delay["packets"]),
            bin_edges(raws, "delay_bins"),
        )

    def _column(self, name: str) -> Any:
        return _numbers(self._windows[name])

    def _sum(self, prefix: str) -> Counts:
        total = np.zeros(len(self._windows), np.int64)
        for name in self._windows.column_names:
            if name.startswith(prefix):
                total += self._column(name)
        return total

    def _work(self, place: int) -> Floats:
        """The capacity or the work done: bits of links, cycles of CPUs."""
        out = np.full(len(self._windows), np.nan)
        for names in WORK.values():
            if names[place] in self._windows.column_names:
                values = self._column(names[place])
                out = np.where(np.isnan(values), out, values)
        return out

    @property
    def capacity(self) -> Floats:
        """Bits or cycles that could be served."""
        return self._work(0)

    @property
    def used(self) -> Floats:
        """Bits or cycles that were served."""
        return self._work(1)

    @property
    def arrivals(self) -> Counts:
        """Packets that arrived."""
        found: Counts = self._column("arrivals")
        return found

    @property
    def departures(self) -> Counts:
        """Packets that departed."""
        found: Counts = self._column("departures")
        return found

    @property
    def dropped(self) -> Counts:
        """Packets dropped, for any reason."""
        return self._sum("drops_")

    @property
    def marked(self) -> Counts:
        """Packets marked, for any reason."""
        return self._sum("marks_")

    @property
    def jitter_sum(self) -> Floats:
        """Sums of the absolute differences between delays of consecutive departures, s."""
        found: Floats = self._column("jitter_sum")
        return found

    @property
    def queue_mean(self) -> Floats:
        """Mean lengths of queues over time, packets."""
        return self._levels.means

    @property
    def queue_std(self) -> Floats:
        """Standard deviations of the lengths of queues over time, packets."""
        return self._levels.stds

    def queue_quantile(self, share: float) -> Floats:
        """Lengths of queues that were not exceeded for this share of the time, packets."""
        return self._levels.quantiles(share)


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array; counts are signed, so that differences are."""
    values = column.to_numpy()
    return values.astype(np.int64) if values.dtype.kind in "iu" else values
