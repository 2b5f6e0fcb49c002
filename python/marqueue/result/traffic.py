"""What flows got over one span of time, and the figures made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from marqueue.result.window import Figure
from marqueue.stats import Counts, Floats, jain, quantile

#: Kinds of flows that react to congestion.
CONTROLLED = ("tcp", "paced")


@dataclass(frozen=True)
class Flows:
    """The flows of one replication (or some of them) and one span of time.

    Arrays have one value a flow: ``start`` and ``left`` in s (a flow leaves when its last packet
    is acknowledged, when it is told to stop, or with the end of the run), ``delivered`` in bytes
    of payload in order within the span, ``fct`` in s (NaN if endless or not finished), ``size``
    in packets (0: endless).
    """

    begin: float
    end: float
    kind: np.ndarray[tuple[int], np.dtype[np.object_]]
    start: Floats
    left: Floats
    fct: Floats
    size: Counts
    delivered: Floats
    #: Sums over the whole run: sent, retransmits, timeouts, ecn_cuts; NaN where nobody counts.
    totals: Mapping[str, float]

    @property
    def seconds_present(self) -> Floats:
        """How long each flow was there within the span, s."""
        until = np.minimum(self.left, self.end)
        seconds: Floats = np.maximum(until - np.maximum(self.start, self.begin), 0.0)
        return seconds

    @property
    def rates(self) -> Floats:
        """Goodput of each flow that was there, over the time that it was, bit/s."""
        seconds = self.seconds_present
        there = seconds > 0
        rates: Floats = 8.0 * self.delivered[there] / seconds[there]
        return rates

    @property
    def long_rates(self) -> Floats:
        """Goodput of each endless controlled flow that was there during the whole span, bit/s."""
        whole = (self.start <= self.begin) & (self.left >= self.end)
        long = np.isin(self.kind, CONTROLLED) & (self.size == 0) & whole
        rates: Floats = 8.0 * self.delivered[long] / (self.end - self.begin)
        return rates

    @property
    def started(self) -> int:
        """Finite flows that began within the span."""
        return int(self._began().sum())

    @property
    def completion_times(self) -> Floats:
        """Of the finite flows that began within the span and finished before the run ended, s."""
        fct = self.fct[self._began()]
        return fct[np.isfinite(fct)]

    def _began(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return (self.size > 0) & (self.begin <= self.start) & (self.start < self.end)


def flow_sets(
    table: pa.Table,
    windows: Iterable[int],
    span: tuple[float, float],
    ends: Floats,
    *,
    group: str | None = None,
    class_: str | None = None,
) -> list[Flows]:
    """The flows (of one group, of one class) of each replication that got to a span of time.

    ``table`` is that of flows, ``windows`` are the measuring windows that make the span, which
    begins and ends at these times, s; ``ends[r]`` is when replication ``r`` ended, s.
    """
    for column, wanted in (("group", group), ("class", class_)):
        if wanted is not None:
            table = table.filter(pc.equal(table[column], wanted))
    columns = {name: table[name].to_numpy() for name in table.column_names}
    delivered = np.sum([columns[f"delivered_{w}"] for w in windows], axis=0, dtype=float)
    begin, end = span
    left = np.fmin(columns["end"], columns["stop"])
    out = []
    for r in np.flatnonzero(ends > begin):
        here = columns["replication"] == r
        out.append(
            Flows(
                begin=begin,
                end=min(end, ends[r]),
                kind=columns["kind"][here],
                start=columns["start"][here],
                left=np.fmin(left[here], ends[r]),
                fct=columns["fct"][here],
                size=columns["size"][here],
                delivered=delivered[here],
                totals={
                    name: columns[name][here].sum()
                    for name in ("sent", "retransmits", "timeouts", "ecn_cuts")
                },
            )
        )
    return out


def _mean(x: Floats) -> float:
    return float(x.mean()) if x.size else float("nan")


#: Figures of flows over one span, in the order of reports.
FLOW_FIGURES: tuple[Figure[Flows], ...] = (
    Figure(
        "goodput",
        "Goodput, total",
        "Mbit/s",
        lambda f: 8.0 * f.delivered.sum() / (f.end - f.begin),
        scale=1e-6,
    ),
    Figure(
        "goodput_per_flow",
        "Goodput, mean of a flow",
        "Mbit/s",
        lambda f: _mean(f.rates),
        scale=1e-6,
    ),
    Figure("flows", "Flows", "", lambda f: int((f.seconds_present > 0).sum())),
    Figure("jain", "Jain's index, long flows", "", lambda f: jain(f.long_rates)),
    Figure("started", "Finite flows started", "", lambda f: f.started),
    Figure("done", "Finite flows finished", "", lambda f: len(f.completion_times)),
    Figure("fct_mean", "Flow completion time, mean", "s", lambda f: _mean(f.completion_times)),
    Figure(
        "fct_median",
        "Flow completion time, median",
        "s",
        lambda f: quantile(f.completion_times, 0.5),
    ),
    Figure(
        "fct_p95", "Flow completion time, p95", "s", lambda f: quantile(f.completion_times, 0.95)
    ),
    Figure(
        "fct_p99", "Flow completion time, p99", "s", lambda f: quantile(f.completion_times, 0.99)
    ),
)

#: Figures that flows keep over the whole run, its warm-up included.
RUN_FIGURES: tuple[Figure[Flows], ...] = (
    Figure("sent", "Data packets sent", "", lambda f: f.totals["sent"]),
    Figure("retransmits", "Retransmissions", "", lambda f: f.totals["retransmits"]),
    Figure(
        "retransmit_ratio",
        "Retransmissions, share of packets sent",
        "",
        lambda f: f.totals["retransmits"],
        lambda f: f.totals["sent"],
    ),
    Figure("timeouts", "Retransmission timeouts", "", lambda f: f.totals["timeouts"]),
    Figure("ecn_cuts", "Window cuts in answer to ECN", "", lambda f: f.totals["ecn_cuts"]),
)
