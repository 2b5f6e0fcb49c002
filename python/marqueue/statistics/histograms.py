"""Histograms: of the time that a level was held, and of delays; and many of them at once.

Many histograms stand one after the other in the same arrays, divided by ``edges``: the i-th is
``[edges[i]:edges[i + 1]]``. Their figures are computed for all together, because a network has a
hundred thousand of them. A single one is computed by the same code, so that its figures are the
same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marqueue.statistics.estimates import Counts, Floats

#: Width of a delay bin relative to its upper edge: the recorder keeps two significant digits,
#: in 128 bins for each doubling.
BIN_WIDTH = 1 / 128


def merge_times(parts: Sequence[Floats]) -> Floats:
    """Adds histograms of time: ``out[q]`` is the number of seconds with ``q`` packets queued."""
    out = np.zeros(max((len(p) for p in parts), default=0))
    for p in parts:
        out[: len(p)] += p
    return out


@dataclass(frozen=True)
class LevelTimes:
    """For how many ``seconds`` each of ``levels`` was held, of several histograms."""

    levels: Counts
    seconds: Floats
    edges: Counts

    @classmethod
    def of(cls, *histograms: Floats) -> LevelTimes:
        """Histograms of their own: ``times[q]`` of each is the number of seconds at level ``q``."""
        levels = [np.flatnonzero(times) for times in histograms]
        seconds = [times[held] for times, held in zip(histograms, levels, strict=True)]
        return cls(_joined(levels, np.int64), _joined(seconds, float), _edges(levels))

    @cached_property
    def means(self) -> Floats:
        """The average over time of each; NaN if no time has passed."""
        out = np.full(len(self.edges) - 1, np.nan)
        for rows, at in _by_length(self.edges):
            out[rows] = ratio((self.levels[at] * self.seconds[at]).sum(1), self.seconds[at].sum(1))
        return out

    @cached_property
    def stds(self) -> Floats:
        """The standard deviation over time of each; NaN if no time has passed."""
        out = np.full(len(self.edges) - 1, np.nan)
        for rows, at in _by_length(self.edges):
            squares = (self.levels[at] - self.means[rows, np.newaxis]) ** 2
            out[rows] = np.sqrt(ratio((squares * self.seconds[at]).sum(1), self.seconds[at].sum(1)))
        return out

    def quantiles(self, share: float) -> Floats:
        """The smallest level of each that is not exceeded for at least this share of the time; NaN
        if no time has passed."""
        out = np.full(len(self.edges) - 1, np.nan)
        for rows, at in _by_length(self.edges):
            total = self.seconds[at].cumsum(1)
            enough = share * total[:, -1:] * (1 - 1e-12)
            place = (total < enough).sum(1, keepdims=True)
            level = np.take_along_axis(self.levels[at], place, 1)[:, 0]
            out[rows] = np.where(total[:, -1] > 0, level, np.nan)
        return out


@dataclass(frozen=True)
class DelayCounts:
    """Sums of delays, and how many ``counts`` are in the bins up to ``upper``, of several
    histograms; in seconds.

    Only bins that hold packets are recorded, by their upper edge. A bin begins :data:`BIN_WIDTH`
    (relative) below its upper edge, or where the previous one ends.
    """

    count: Counts
    total: Floats
    total_sq: Floats
    upper: Floats
    counts: Counts
    edges: Counts

    @classmethod
    def of(cls, *histograms: Delays) -> DelayCounts:
        """Histograms of their own."""
        return cls(
            np.array([each.count for each in histograms]),
            np.array([each.total for each in histograms]),
            np.array([each.total_sq for each in histograms]),
            _joined([each.upper for each in histograms], float),
            _joined([each.counts for each in histograms], np.int64),
            _edges([each.upper for each in histograms]),
        )

    @cached_property
    def mean(self) -> Floats:
        """The mean delay of each, s; NaN without packets."""
        return ratio(self.total, self.count)

    @cached_property
    def std(self) -> Floats:
        """The standard deviation over packets of each, s; NaN without packets."""
        return np.sqrt(np.maximum(0.0, ratio(self.total_sq, self.count) - self.mean**2))

    def quantile(self, share: float) -> Floats:
        """The delay of each that this share of the packets did not exceed, s; NaN without packets.

        Linear within a bin.
        """
        out = np.full(len(self.count), np.nan)
        for rows, at in _by_length(self.edges):
            upper, counts = self.upper[at], self.counts[at]
            total = counts.cumsum(1)
            rank = share * total[:, -1]
            place = np.minimum((total < rank[:, np.newaxis]).sum(1), counts.shape[1] - 1)
            each = np.arange(len(rows))
            before = np.where(place > 0, total[each, place - 1], 0)
            lower = upper[each, place] * (1 - BIN_WIDTH)
            lower = np.where(place > 0, np.maximum(lower, upper[each, place - 1]), lower)
            within = ratio(
                (upper[each, place] - lower) * (rank - before), counts[each, place], without=0.0
            )
            out[rows] = np.where(total[:, -1] > 0, lower + within, np.nan)
        return out


@dataclass(frozen=True)
class Delays:
    """Sums and a histogram of delays, in seconds (:class:`DelayCounts`); adding two merges them."""

    count: int
    total: float
    total_sq: float
    upper: Floats
    counts: Counts

    def __add__(self, other: Delays) -> Delays:
        upper, where = np.unique(np.concatenate([self.upper, other.upper]), return_inverse=True)
        counts = np.zeros(len(upper), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return Delays(
            self.count + other.count,
            self.total + other.total,
            self.total_sq + other.total_sq,
            upper,
            counts,
        )

    @cached_property
    def _alone(self) -> DelayCounts:
        return DelayCounts.of(self)

    @property
    def mean(self) -> float:
        """Mean delay, s."""
        return float(self._alone.mean[0])

    @property
    def std(self) -> float:
        """Standard deviation over packets, s."""
        return float(self._alone.std[0])

    def quantile(self, share: float) -> float:
        """The delay that this share of the packets did not exceed, s; linear within a bin."""
        return float(self._alone.quantile(share)[0])


def ratio(amounts: Floats, totals: Floats | Counts, without: float = np.nan) -> Floats:
    """Amounts divided by totals; ``without`` where the total is not positive."""
    out = np.full(len(amounts), without)
    np.divide(amounts, totals, out=out, where=totals > 0)
    return out


def _joined(parts: Sequence[Floats | Counts], dtype: type) -> Any:
    """Several arrays, which may be none, one after the other."""
    return np.concatenate([np.empty(0, dtype), *parts])


def _edges(parts: Sequence[Floats | Counts]) -> Counts:
    """Where each of several arrays begins, one after the other, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)])


def _by_length(edges: Counts) -> Iterator[tuple[Counts, Counts]]:
    """Histograms with the same number of bins together: their numbers, and for each of them a row
    with the places of its bins. Empty ones are left out."""
    lengths = np.diff(edges)
    order = np.argsort(lengths, kind="stable")
    changes = np.flatnonzero(np.diff(lengths[order])) + 1
    for rows in np.split(order, changes):
        length = int(lengths[rows[0]]) if len(rows) else 0
        if length:
            yield rows, edges[rows, np.newaxis] + np.arange(length)
