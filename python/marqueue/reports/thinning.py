"""Fewer samples of a long series that look the same: no peak and no dip is lost.

The rule is M4 (U. Jugel et al., *M4: A visualization-oriented time series data aggregation*, VLDB
2014): of each column of consecutive samples the first, the last, the smallest and the largest stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marqueue.statistics.estimates import Counts, Floats

#: Samples that stay of each column.
PER_COLUMN = 4


def kept(values: Sequence[Floats], columns: int) -> Counts:
    """The places of the samples that stay, ascending; all of them if there are few.

    ``values`` has arrays of one length that are thinned together, such as a curve and both ends of
    its band. The first and the last sample of each column stay, and the places of the minimum and
    of the maximum of each array; values that are not finite are no extremes.
    """
    n = len(values[0])
    if n <= PER_COLUMN * columns:
        return np.arange(n)
    width = -(-n // columns)
    rows = -(-n // width)
    starts = np.arange(rows) * width
    places = [starts, np.minimum(starts + width, n) - 1]
    for each in values:
        finite = np.isfinite(each)
        for fill, find in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            padded = np.full(rows * width, fill)
            padded[:n] = np.where(finite, each, fill)
            places.append(starts + find(padded.reshape(rows, width), axis=1))
    # A column without a finite value points at its first sample, which stays anyway.
    return np.unique(np.concatenate(places))
