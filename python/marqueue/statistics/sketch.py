"""Quantiles of more values than are worth keeping, with a bounded relative error.

Source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
Relative-Error Guarantees", Proceedings of the VLDB Endowment 12 (2019), section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from marqueue.statistics.estimates import Counts, Floats

#: The largest relative error of a quantile.
ERROR = 0.01
#: Bins are narrower by this much, so that rounding of a logarithm does not exceed the error.
_ROUNDING = 1e-9
_ERROR_OF_BIN = ERROR * (1 - _ROUNDING)
#: The ratio of the edges of a bin.
GAMMA = (1 + _ERROR_OF_BIN) / (1 - _ERROR_OF_BIN)


@dataclass(frozen=True)
class QuantileSketch:
    """Counts of positive values in bins whose edges are powers of :data:`GAMMA`, and of zeros;
    adding two merges them. What a value adds does not depend on the order of values.

    Bins are not collapsed: over twelve powers of ten they are 1400, and over all that a double can
    be 71,000. A sketch of a million values takes as much memory as one of a thousand.
    """

    #: Bin ``first + i`` has ``counts[i]`` values, from ``GAMMA ** (first + i - 1)`` (not included)
    #: to ``GAMMA ** (first + i)``.
    first: int = 0
    counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    zeros: int = 0

    @classmethod
    def of(cls, values: Floats) -> QuantileSketch:
        """The sketch of some values. Raises ValueError if one is negative or not finite."""
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError("a sketch takes finite values from 0")
        positive = values[values > 0]
        if not positive.size:
            return cls(zeros=int(values.size))
        bins = np.ceil(np.log(positive) / math.log(GAMMA)).astype(np.int64)
        first = int(bins.min())
        return cls(first, np.bincount(bins - first), int(values.size - positive.size))

    def __add__(self, other: QuantileSketch) -> QuantileSketch:
        zeros = self.zeros + other.zeros
        parts = [each for each in (self, other) if each.counts.size]
        if not parts:
            return QuantileSketch(zeros=zeros)
        first = min(each.first for each in parts)
        end = max(each.first + each.counts.size for each in parts)
        counts = np.zeros(end - first, dtype=np.int64)
        for each in parts:
            begin = each.first - first
            counts[begin : begin + each.counts.size] += each.counts
        return QuantileSketch(first, counts, zeros)

    def __len__(self) -> int:
        """Number of values."""
        return self.zeros + int(self.counts.sum())

    @property
    def values(self) -> Floats:
        """The value for which each bin stands: none in it differs by more than :data:`ERROR`."""
        bins = np.arange(self.first, self.first + self.counts.size)
        values: Floats = np.exp(bins * math.log(GAMMA)) * (2 / (1 + GAMMA))
        return values

    def quantile(self, share: float) -> float:
        """What :func:`~marqueue.statistics.estimates.quantile` gives for all values, within
        :data:`ERROR` of it; NaN without values."""
        size = len(self)
        if not size:
            return math.nan
        rank = share * (size - 1)
        at = math.floor(rank)
        until = np.cumsum(np.append(self.zeros, self.counts))
        values = np.append(0.0, self.values)
        # Between two order statistics as between the values that stand for them: the weights are
        # positive, so the error is not larger.
        places = np.searchsorted(until, [at, min(at + 1, size - 1)], side="right")
        low, high = values[places]
        return float(low + (high - low) * (rank - at))

    def distribution(self) -> tuple[Floats, Floats]:
        """The distribution as :func:`~marqueue.statistics.estimates.ecdf` has it: a value for each
        bin that is not empty, and the share of values at most that large."""
        counts = np.append(self.zeros, self.counts)
        there = counts > 0
        shares: Floats = np.cumsum(counts)[there] / max(1, len(self))
        return np.append(0.0, self.values)[there], shares
