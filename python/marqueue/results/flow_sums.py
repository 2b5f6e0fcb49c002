"""Figures of more flows than are worth keeping in memory: sums and sketches, part by part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from marqueue.results.flows import TOTALS, FlowColumns, Flows, flow_sets
from marqueue.statistics.estimates import Floats
from marqueue.statistics.sketch import QuantileSketch


class Selection(NamedTuple):
    """The flows of a group, of a class, of both, or all of them."""

    group: str | None = None
    class_: str | None = None


class Part(NamedTuple):
    """A span of time: its measuring windows, and its begin and end (s)."""

    windows: tuple[int, ...]
    span: tuple[float, float]


Wanted = tuple[Part, Selection]
"""What sums are wanted of."""


@dataclass(frozen=True)
class FlowSums:
    """What figures need of the flows of one replication in a window; adding two merges them.

    It has the figures of :class:`~marqueue.results.flows.Flows`. Quantiles have the error of
    :class:`~marqueue.statistics.sketch.QuantileSketch`; everything else is exact, but for the
    rounding of sums.
    """

    seconds: float
    """Length of the window within the replication."""
    delivered: float = 0.0
    """Bytes."""
    rates: float = 0.0
    """Sum of the goodputs of the flows that were active, bit/s."""
    present: int = 0
    started: int = 0
    fct: float = 0.0
    """Sum of completion times, s."""
    completion_times: QuantileSketch = field(default_factory=QuantileSketch)
    long_rates: QuantileSketch = field(default_factory=QuantileSketch)
    long_rate: float = 0.0
    """Sum of the goodputs of long flows, bit/s."""
    long_rate_sq: float = 0.0
    """Sum of their squares."""
    totals: Mapping[str, float] = field(default_factory=dict)
    """As those of :class:`~marqueue.results.flows.Flows`."""

    @classmethod
    def of(cls, flows: Flows) -> FlowSums:
        """The sums of some flows."""
        long = flows.long_rates
        return cls(
            seconds=flows.end - flows.begin,
            delivered=float(flows.delivered.sum()),
            rates=float(flows.rates.sum()),
            present=flows.present,
            started=flows.started,
            fct=float(flows.completion_times.sum()),
            completion_times=QuantileSketch.of(flows.completion_times),
            long_rates=QuantileSketch.of(long),
            long_rate=float(long.sum()),
            long_rate_sq=float((long * long).sum()),
            totals=flows.totals,
        )

    def __add__(self, other: FlowSums) -> FlowSums:
        return FlowSums(
            self.seconds,
            self.delivered + other.delivered,
            self.rates + other.rates,
            self.present + other.present,
            self.started + other.started,
            self.fct + other.fct,
            self.completion_times + other.completion_times,
            self.long_rates + other.long_rates,
            self.long_rate + other.long_rate,
            self.long_rate_sq + other.long_rate_sq,
            {name: value + other.totals[name] for name, value in self.totals.items()},
        )

    @property
    def goodput(self) -> float:
        """Goodput of all flows together, bit/s."""
        return 8.0 * self.delivered / self.seconds

    @property
    def goodput_per_flow(self) -> float:
        """Mean goodput of a flow over the time for which it was active, bit/s."""
        return self.rates / self.present if self.present else math.nan

    @property
    def jain(self) -> float:
        """Jain's index of long flows."""
        if self.long_rate <= 0:
            return math.nan
        return self.long_rate**2 / (len(self.long_rates) * self.long_rate_sq)

    @property
    def done(self) -> int:
        """Number of finite flows that started in the window and finished in the run."""
        return len(self.completion_times)

    @property
    def fct_mean(self) -> float:
        """Mean completion time, s."""
        return self.fct / self.done if self.done else math.nan

    def fct_quantile(self, share: float) -> float:
        """The completion time that this share of the flows did not exceed, s."""
        return self.completion_times.quantile(share)


def flow_sums(
    tables: Iterable[pa.Table], wanted: Iterable[Wanted], ends: Floats
) -> dict[Wanted, list[FlowSums]]:
    """The sums of each selection of flows in its part of time: one entry per replication that
    reached it.

    ``tables`` are parts of the table of flows; each is read once. ``ends[r]`` is the end of
    replication ``r`` (s).
    """
    nothing = dict.fromkeys(TOTALS, 0.0)
    sums = {
        (part, of): {
            r: FlowSums(min(part.span[1], end) - part.span[0], totals=nothing)
            for r, end in enumerate(ends)
            if end > part.span[0]
        }
        for part, of in wanted
    }
    for table in tables:
        columns = FlowColumns(table)
        for (part, of), found in sums.items():
            sets = flow_sets(
                columns, part.windows, part.span, ends, group=of.group, class_=of.class_
            )
            for r, flows in zip(found, sets, strict=True):
                if flows.size.size:
                    found[r] += FlowSums.of(flows)
    return {key: list(found.values()) for key, found in sums.items()}
