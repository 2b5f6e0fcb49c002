"""Statistics of one autocorrelated series: the end of its transient, and an interval of its mean.

Sources: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
Simulation 69(6), 1997 (MSER); K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five
steady-state truncation heuristics for simulation", WSC 2000 (batches of five); K. Hoad,
S. Robinson, R. Davies, "Automating warm-up length estimation", J. Oper. Res. Soc. 61, 2010 (the
first half, the last five batches); A. M. Law, *Simulation Modeling and Analysis*, 5th ed., section
9.5.3 (batch means).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from marqueue.statistics.estimates import Estimate, Floats
from marqueue.statistics.mser_batches import MSER_BATCH, MSER_BATCHES

#: Batches at the end that are not searched: too few follow them.
MSER_TAIL = 5


@dataclass(frozen=True)
class Truncation:
    """The length of a series' transient, in samples."""

    samples: int
    #: Whether the minimum lies in the first half; if not, the series has not settled by then.
    settled: bool


def mser5(series: Floats) -> Truncation:
    """Finds the cut that minimizes the standard error of the mean of the rest.

    The series is averaged over batches of five samples. Only the first half is searched: cuts
    beyond it leave too few batches. Raises ValueError for a series that is too short.
    """
    m = len(series) // MSER_BATCH
    if m < MSER_BATCHES:
        expected = f"at least {MSER_BATCH * MSER_BATCHES}"
        raise ValueError(f"got {len(series)} samples, expected {expected} for MSER-5")
    batches = series[: m * MSER_BATCH].reshape(m, MSER_BATCH).mean(axis=1)
    # Sums over the last k batches, relative to the last: a constant tail gives exact zeros.
    backwards = (batches - batches[-1])[::-1]
    k = np.arange(1, m + 1)
    squares = np.maximum((backwards**2).cumsum() - backwards.cumsum() ** 2 / k, 0.0)
    error = (squares / k**2)[::-1]
    half = m // 2
    cut = int(np.argmin(error[:half]))
    return Truncation(cut * MSER_BATCH, int(np.argmin(error[: m - MSER_TAIL])) < half)


@dataclass(frozen=True)
class BatchMeans(Estimate):
    """The mean of one series with a Student interval over the means of its ``n`` batches."""

    lag1: float = math.nan
    """Lag-1 autocorrelation of the batch means; NaN if they are all equal. Far above zero, the
    batches are too short and the interval is too narrow."""

    @classmethod
    def over(cls, series: Floats, batches: int = 20, confidence: float = 0.95) -> Self:
        """The batch means of a series without its transient.

        Samples at the front that do not fill a batch are ignored. Raises ValueError for fewer than
        two batches or fewer samples than batches.
        """
        if batches < 2:
            raise ValueError(f"got {batches} batches, expected at least 2")
        size = len(series) // batches
        if size == 0:
            raise ValueError(
                f"got {len(series)} samples for {batches} batches, expected one a batch at least"
            )
        means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
        estimate = Estimate.of(means, confidence)
        return cls(estimate.mean, estimate.half_width, estimate.n, confidence, _lag1(means))

    @property
    def independent(self) -> bool:
        """Whether the batch means show no positive autocorrelation, in a one-sided test at 5%."""
        return not self.lag1 > 1.645 / math.sqrt(self.n)


def _lag1(x: Floats) -> float:
    deviation = x - x.mean()
    total = float(deviation @ deviation)
    return float(deviation[1:] @ deviation[:-1]) / total if total > 0 else math.nan
