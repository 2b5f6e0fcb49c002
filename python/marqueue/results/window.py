"""The measurements of one link in one window, and the figures of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

from marqueue.results.figure import Figure
from marqueue.statistics.estimates import Floats
from marqueue.statistics.histograms import Delays, LevelTimes, merge_times


@dataclass(frozen=True)
class Window:
    """Sums and histograms of one link in one window; adding two merges them.

    The packet in transmission is not part of the queue, and the transmission time is not part of
    the queueing delay.
    """

    seconds: float
    arrivals: int
    arrived_bytes: int
    departures: int
    departed_bytes: int
    dropped_bytes: int
    #: The capacity and the work done: bits of a link, cycles of a CPU.
    capacity: float
    used: float
    #: Sum of the absolute differences between queueing delays of consecutive departures, s.
    jitter_sum: float
    drops: dict[str, int]
    marks: dict[str, int]
    #: ``queue[q]``: seconds with ``q`` packets in the queue. From 65,536 on, lengths are in bins
    #: whose width is at most a 32,768th of them, and the time of a bin is at its middle.
    queue: Floats
    delays: Delays
    #: Work done for each group of traffic; empty in a scenario without a CPU.
    groups: dict[str, float]

    @property
    def dropped(self) -> int:
        """Packets dropped, for any reason."""
        return sum(self.drops.values())

    @property
    def marked(self) -> int:
        """Packets marked, for any reason."""
        return sum(self.marks.values())

    @cached_property
    def _levels(self) -> LevelTimes:
        return LevelTimes.of(self.queue)

    @property
    def queue_mean(self) -> float:
        """Mean length of the queue over time, packets."""
        return float(self._levels.means[0])

    @property
    def queue_std(self) -> float:
        """Standard deviation of the length of the queue over time, packets."""
        return float(self._levels.stds[0])

    def queue_quantile(self, share: float) -> float:
        """The length of the queue that was not exceeded for this share of the time, packets."""
        return float(self._levels.quantiles(share)[0])

    def __add__(self, other: Window) -> Window:
        return Window(
            seconds=self.seconds + other.seconds,
            arrivals=self.arrivals + other.arrivals,
            arrived_bytes=self.arrived_bytes + other.arrived_bytes,
            departures=self.departures + other.departures,
            departed_bytes=self.departed_bytes + other.departed_bytes,
            dropped_bytes=self.dropped_bytes + other.dropped_bytes,
            capacity=self.capacity + other.capacity,
            used=self.used + other.used,
            jitter_sum=self.jitter_sum + other.jitter_sum,
            drops=_add(self.drops, other.drops),
            marks=_add(self.marks, other.marks),
            queue=merge_times([self.queue, other.queue]),
            delays=self.delays + other.delays,
            groups={g: self.groups[g] + other.groups[g] for g in self.groups},
        )


def _add(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {k: a.get(k, 0) + b.get(k, 0) for k in sorted({*a, *b})}


def merge(windows: Iterable[Window]) -> Window:
    """Merges windows into one."""
    return reduce(Window.__add__, windows)


SHARES = (("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


def _queue_quantile(share: float) -> Callable[[Window], float]:
    return lambda w: w.queue_quantile(share)


def _delay_quantile(share: float) -> Callable[[Window], float]:
    return lambda w: w.delays.quantile(share)


#: All figures of a link, in the order of reports.
LINK_FIGURES: tuple[Figure[Window], ...] = (
    Figure("utilization", "Utilization", "", lambda w: w.used, lambda w: w.capacity),
    Figure("loss_ratio", "Loss ratio", "", lambda w: w.dropped, lambda w: w.arrivals),
    Figure("mark_ratio", "Mark ratio", "", lambda w: w.marked, lambda w: w.departures),
    Figure("drops", "Packets dropped", "", lambda w: w.dropped),
    Figure("marks", "Packets marked", "", lambda w: w.marked),
    Figure("queue_mean", "Queue, mean", "packets", lambda w: w.queue_mean),
    Figure("queue_std", "Queue, standard deviation", "packets", lambda w: w.queue_std),
    *(
        Figure(f"queue_{p}", f"Queue, {p}", "packets", _queue_quantile(share))
        for p, share in SHARES
    ),
    Figure("delay_mean", "Queueing delay, mean", "ms", lambda w: w.delays.mean, scale=1e3),
    Figure(
        "delay_std", "Queueing delay, standard deviation", "ms", lambda w: w.delays.std, scale=1e3
    ),
    *(
        Figure(f"delay_{p}", f"Queueing delay, {p}", "ms", _delay_quantile(share), scale=1e3)
        for p, share in SHARES
    ),
    # RFC 3393, section 4.5: absolute values, over consecutive packets of the link.
    Figure("jitter", "Delay variation", "ms", lambda w: w.jitter_sum, lambda w: w.departures, 1e3),
)


def share_figures(group: str) -> tuple[Figure[Window], Figure[Window]]:
    """The figures of the work done for a group of traffic, in bits or cycles."""
    return (
        Figure("rate", "Rate", "", lambda w: w.groups[group] / w.seconds),
        Figure("share", "Share", "", lambda w: w.groups[group], lambda w: w.capacity),
    )
