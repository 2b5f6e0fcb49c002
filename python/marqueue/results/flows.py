"""Flows in a measuring window, and the figures of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from marqueue.results.figure import Figure
from marqueue.statistics.estimates import Counts, Floats, jain, quantile

#: Kinds of flows that react to congestion.
CONTROLLED = ("tcp", "paced", "quic", "media")

#: Counts of each flow over the whole run.
TOTALS = ("sent", "retransmits", "timeouts", "ecn_cuts")

#: One name per row, such as the kind of each flow.
Names = np.ndarray[tuple[int], np.dtype[np.object_]]
Truths = np.ndarray[tuple[int], np.dtype[np.bool_]]
Rows = np.ndarray[tuple[int], np.dtype[np.intp]]


class FlowColumns:
    """The table of flows as numpy arrays, indexed by group and by class.

    A lookup takes time in proportion to the rows found, so a loop over all groups takes time in
    proportion to the flows.
    """

    def __init__(self, flows: pa.Table) -> None:
        self._all: Rows = np.arange(flows.num_rows)
        named = {name: _encoded(flows[name]) for name in ("group", "class", "kind")}
        self._rows = {name: _rows_by_name(*named[name]) for name in ("group", "class")}
        groups, self._group = named["group"]
        self._groups = {name: code for code, name in enumerate(groups)}
        kinds, kind = named["kind"]
        self.kind: Names = np.array(kinds, dtype=object)[kind]
        #: Whether each flow reacts to congestion.
        self.controlled: Truths = np.array([each in CONTROLLED for each in kinds], bool)[kind]
        self._values = {
            name: flows[name].to_numpy() for name in flows.column_names if name not in named
        }

    def rows(self, group: str | None = None, class_: str | None = None) -> Rows:
        """The rows of a group, of a class, of both, or all rows, in the order of the table."""
        none: Rows = self._all[:0]
        if class_ is None:
            return self._all if group is None else self._rows["group"].get(group, none)
        of_class = self._rows["class"].get(class_, none)
        if group is None:
            return of_class
        both: Rows = of_class[self._group[of_class] == self._groups.get(group, -1)]
        return both

    def by_replication(self, rows: Rows, replications: int) -> list[Rows]:
        """These rows by replication, each in the order of the table."""
        return _divided(rows, self["replication"][rows], replications)

    def __getitem__(self, column: str) -> np.ndarray[tuple[int], np.dtype[Any]]:
        """A column of numbers."""
        values: np.ndarray[tuple[int], np.dtype[Any]] = self._values[column]
        return values


FEW_FLOWS = 20_000
"""Flows whose names are counted here before pyarrow.compute is worth its import of 50 ms."""


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Rows]:
    """The names in a column, and for each row the index of its name."""
    if len(column) > FEW_FLOWS:
        encoded = column.combine_chunks().dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    known: dict[str, int] = {}
    codes = [known.setdefault(name, len(known)) for name in column.to_pylist()]
    return list(known), np.array(codes, dtype=np.intp)


def _rows_by_name(known: Sequence[str], codes: Rows) -> dict[str, Rows]:
    """The rows of each name, in order."""
    return dict(zip(known, _divided(np.arange(len(codes)), codes, len(known)), strict=True))


def _divided(rows: Rows, codes: np.ndarray[Any, np.dtype[Any]], number: int) -> list[Rows]:
    """The rows of each of so many codes, in order; ``codes`` has that of each row."""
    edges = np.cumsum(np.bincount(codes, minlength=number))
    return np.split(rows[np.argsort(codes, kind="stable")], edges[:-1]) if number else []


@dataclass(frozen=True)
class Flows:
    """The flows of one replication, or a part of them, in one window.

    Arrays have one value per flow: ``start`` and ``left`` in s (a flow leaves when its last packet
    is acknowledged, at its stop time, or at the end of the run), ``delivered`` in bytes of payload
    in order within the window, ``fct`` in s (NaN if unlimited or not finished), ``size`` in packets
    (0: unlimited). ``controlled`` says which flows react to congestion.
    """

    begin: float
    end: float
    kind: Names
    controlled: Truths
    start: Floats
    left: Floats
    fct: Floats
    size: Counts
    delivered: Floats
    #: Sums over the whole run: sent, retransmits, timeouts, ecn_cuts; NaN if not counted.
    totals: Mapping[str, float]

    @cached_property
    def seconds_present(self) -> Floats:
        """The time for which each flow was active in the window, s."""
        until = np.minimum(self.left, self.end)
        seconds: Floats = np.maximum(until - np.maximum(self.start, self.begin), 0.0)
        return seconds

    @cached_property
    def rates(self) -> Floats:
        """Goodput of each active flow over the time for which it was active, bit/s."""
        seconds = self.seconds_present
        there = seconds > 0
        rates: Floats = 8.0 * self.delivered[there] / seconds[there]
        return rates

    @cached_property
    def long_rates(self) -> Floats:
        """Goodput of each unlimited, congestion-controlled flow active in the whole window,
        bit/s."""
        whole = (self.start <= self.begin) & (self.left >= self.end)
        long = self.controlled & (self.size == 0) & whole
        rates: Floats = 8.0 * self.delivered[long] / (self.end - self.begin)
        return rates

    @property
    def started(self) -> int:
        """Number of finite flows that started in the window."""
        return int(self._began.sum())

    @cached_property
    def completion_times(self) -> Floats:
        """Completion times of finite flows that started in the window and finished in the run,
        s."""
        fct = self.fct[self._began]
        return fct[np.isfinite(fct)]

    @property
    def goodput(self) -> float:
        """Goodput of all flows together, bit/s."""
        return float(8.0 * self.delivered.sum() / (self.end - self.begin))

    @property
    def goodput_per_flow(self) -> float:
        """Mean of :attr:`rates`, bit/s."""
        return _mean(self.rates)

    @property
    def present(self) -> int:
        """Number of flows that were active in the window."""
        return int((self.seconds_present > 0).sum())

    @property
    def jain(self) -> float:
        """Jain's index of :attr:`long_rates`."""
        return jain(self.long_rates)

    @property
    def done(self) -> int:
        """Number of finite flows that started in the window and finished in the run."""
        return len(self.completion_times)

    @property
    def fct_mean(self) -> float:
        """Mean completion time, s."""
        return _mean(self.completion_times)

    def fct_quantile(self, share: float) -> float:
        """The completion time that this share of the flows did not exceed, s."""
        return quantile(self.completion_times, share)

    @cached_property
    def _began(self) -> Truths:
        return (self.size > 0) & (self.begin <= self.start) & (self.start < self.end)


def flow_sets(
    columns: FlowColumns,
    windows: Sequence[int],
    span: tuple[float, float],
    ends: Floats,
    *,
    group: str | None = None,
    class_: str | None = None,
) -> list[Flows]:
    """The flows, of one group or class if given, of each replication that reached a span of time.

    ``windows`` are the measuring windows in the span, ``span`` its begin and end (s), and
    ``ends[r]`` the end of replication ``r`` (s).
    """
    begin, end = span
    by_replication = columns.by_replication(columns.rows(group, class_), len(ends))
    out = []
    for r in np.flatnonzero(ends > begin):
        here = by_replication[r]
        left = np.fmin(columns["end"][here], columns["stop"][here])
        delivered = [columns[f"delivered_{w}"][here] for w in windows]
        out.append(
            Flows(
                begin=begin,
                end=min(end, ends[r]),
                kind=columns.kind[here],
                controlled=columns.controlled[here],
                start=columns["start"][here],
                left=np.fmin(left, ends[r]),
                fct=columns["fct"][here],
                size=columns["size"][here],
                delivered=np.sum(delivered, axis=0, dtype=float),
                totals={name: columns[name][here].sum() for name in TOTALS},
            )
        )
    return out


def _mean(x: Floats) -> float:
    return float(x.mean()) if x.size else float("nan")


class MeasuredFlows(Protocol):
    """What figures need of the flows of one replication in a window; see :class:`Flows`."""

    @property
    def goodput(self) -> float:
        """Of all flows together, bit/s."""

    @property
    def goodput_per_flow(self) -> float:
        """Mean over the flows that were active, bit/s."""

    @property
    def present(self) -> int:
        """Number of flows that were active."""

    @property
    def jain(self) -> float:
        """Jain's index of long flows."""

    @property
    def started(self) -> int:
        """Number of finite flows that started."""

    @property
    def done(self) -> int:
        """Number of them that finished in the run."""

    @property
    def fct_mean(self) -> float:
        """Mean completion time, s."""

    def fct_quantile(self, share: float) -> float:
        """The completion time that this share of the flows did not exceed, s."""

    @property
    def totals(self) -> Mapping[str, float]:
        """Counts over the whole run."""


#: Figures of flows in a window, in the order of reports.
FLOW_FIGURES: tuple[Figure[MeasuredFlows], ...] = (
    Figure("goodput", "Goodput, total", "Mbit/s", lambda f: f.goodput, scale=1e-6),
    Figure(
        "goodput_per_flow",
        "Goodput, mean of a flow",
        "Mbit/s",
        lambda f: f.goodput_per_flow,
        scale=1e-6,
    ),
    Figure("flows", "Flows", "", lambda f: f.present),
    Figure("jain", "Jain's index, long flows", "", lambda f: f.jain),
    Figure("started", "Finite flows started", "", lambda f: f.started),
    Figure("done", "Finite flows finished", "", lambda f: f.done),
    Figure("fct_mean", "Flow completion time, mean", "s", lambda f: f.fct_mean),
    Figure("fct_median", "Flow completion time, median", "s", lambda f: f.fct_quantile(0.5)),
    Figure("fct_p95", "Flow completion time, p95", "s", lambda f: f.fct_quantile(0.95)),
    Figure("fct_p99", "Flow completion time, p99", "s", lambda f: f.fct_quantile(0.99)),
)

#: Figures of flows over the whole run, including the warm-up.
RUN_FIGURES: tuple[Figure[MeasuredFlows], ...] = (
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
