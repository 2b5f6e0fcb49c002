"""What is kept of a run for the charts of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.evaluation.measures import BOTTLENECK, goodput_of
from marqueue.evaluation.run_data import RunData
from marqueue.statistics.estimates import Floats

POINTS = 200
"""Points of a curve over time."""
CONTOUR = 64
"""Points of an ellipse."""
PERIOD = 1.0
"""Time over which rates of flows are taken, s: ten round trips of 100 ms (RFC 7928, 2.7)."""


Distribution = tuple[Floats, Floats]
"""Values in order, and the share up to each."""


@dataclass(frozen=True)
class Picture:
    """Curves of a run."""

    delay: Floats
    """Mean queueing delay of each replication, s."""
    goodput: Floats
    """Goodput of each replication, bit/s."""
    time: Floats
    """s."""
    queue: Floats
    """The queue at these times, mean over replications, packets."""
    busy: Floats
    """Utilization over the time since the previous sample, mean over replications."""
    delay_upper: Floats
    """Upper ends of the bins of the queueing delay, all replications, s."""
    delay_share: Floats
    """The share of packets up to these delays."""
    variation: Distribution | None
    """Delay variation of packets, s; None where packets were not recorded."""
    rates: Distribution | None
    """Rate of TCP flows over :data:`PERIOD`, bit/s; None also without such flows."""


def picture_of(run: RunData) -> Picture | None:
    """The curves of the bottleneck; None without such a link."""
    if BOTTLENECK not in run.result.links:
        return None
    link = run.result.link(BOTTLENECK)
    time, queue = link.series("queue")
    _, busy = link.series("utilization")
    step = max(1, -(-len(time) // POINTS))
    whole = len(time) - len(time) % step

    def thin(values: Floats) -> Floats:
        mean = values.mean(axis=0)
        return np.asarray(mean[:whole].reshape(-1, step).mean(axis=1))

    delays = link.windows()[0].delays
    for other in link.windows()[1:]:
        delays = delays + other.delays
    shares = delays.counts.cumsum() / max(1, delays.counts.sum())
    recorded = run.recorded(BOTTLENECK)
    begin, _ = run.result.span()
    thinned = np.unique(np.linspace(0, max(len(shares) - 1, 0), POINTS).astype(int))
    return Picture(
        delay=link.values("delay_mean"),
        goodput=goodput_of(run),
        time=np.asarray(time[:whole].reshape(-1, step).mean(axis=1)),
        queue=thin(queue),
        busy=thin(busy),
        delay_upper=delays.upper[thinned] if len(shares) else delays.upper,
        delay_share=shares[thinned] if len(shares) else shares,
        variation=_distribution(run.packets(BOTTLENECK).variations()) if recorded else None,
        rates=_distribution(run.packets(BOTTLENECK).rates(run.of_kind("tcp"), begin, PERIOD))
        if recorded
        else None,
    )


def _distribution(parts: Sequence[Floats]) -> Distribution | None:
    """The distribution of all values together, thinned out; None without values."""
    values = np.sort(np.concatenate(parts))
    if not len(values):
        return None
    at = np.unique(np.linspace(0, len(values) - 1, POINTS).astype(int))
    return values[at], (at + 1) / len(values)


def ellipse(x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """The contour of one standard deviation of the Gaussian that fits points best (maximum
    likelihood), as in RFC 7928, section 2.7; None for fewer than three points."""
    if len(x) < 3:
        return None
    points = np.stack([x, y])
    covariance = np.cov(points, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * np.pi, CONTOUR)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    contour = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    return points[0].mean() + contour[0], points[1].mean() + contour[1]
