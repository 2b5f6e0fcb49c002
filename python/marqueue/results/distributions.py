"""Distributions over all replications: of the queueing delay of packets, of the queue over time."""

from __future__ import annotations

import numpy as np

from marqueue.results.data import ResultData
from marqueue.statistics.estimates import Floats
from marqueue.statistics.histograms import merge_times


def delay_distribution(result: ResultData, link: str) -> tuple[Floats, Floats]:
    """The cumulative distribution of the queueing delay over the measured time and all
    replications: upper edges of bins (s), and the share of packets up to each."""
    delays = [window.delays for window in result.link(link).windows()]
    upper = np.concatenate([each.upper for each in delays]) if delays else np.empty(0)
    counts = np.concatenate([each.counts for each in delays]) if delays else np.empty(0)
    edges, place = np.unique(upper, return_inverse=True)
    packets = np.bincount(place, weights=counts, minlength=len(edges)).astype(float)
    return edges, np.cumsum(packets) / max(float(packets.sum()), 1.0)


def queue_distribution(result: ResultData, link: str, window: int | None = None) -> Floats:
    """The share of time at each queue length (packets) in a window (None: the measured time), all
    replications together; empty if nothing was measured."""
    seconds = merge_times([part.queue for part in result.link(link).windows(window)])
    total = float(seconds.sum())
    shares: Floats = seconds / total if total > 0 else seconds[:0]
    return shares
