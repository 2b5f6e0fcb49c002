"""The data of one run that measures read: the result, and its recorded packets as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marqueue.results import Result
from marqueue.statistics.estimates import Floats

Indices = npt.NDArray[np.int64]


class NotRecorded(Exception):
    """A measure reads what this run did not record; the message says what."""


KINDS = "arrive", "drop", "depart"
"""What is counted of the events of a packet; the others are marks."""
ARRIVE, DROP, DEPART = range(len(KINDS))


@dataclass(frozen=True)
class Packets:
    """The packets of a traced link after the warm-up, one entry of the list per replication."""

    time: Sequence[Floats]
    """s."""
    kind: Sequence[Indices]
    """Indices of :data:`KINDS`; -1 for others."""
    flow: Sequence[Indices]
    seq: Sequence[Indices]
    """Number of the packet in its flow's data."""
    sojourn: Sequence[Floats]
    """s; meaningful at departures."""
    ack: Sequence[npt.NDArray[np.bool_]]
    size: Sequence[Indices]
    """Bytes on the wire."""

    def loss_ratio(self, flows: Sequence[Indices]) -> Floats:
        """Dropped over arrived data packets of these flows."""
        return np.array([_ratio(*counts) for counts in self._counts(flows, acks=False)])

    def ack_loss_ratio(self) -> Floats:
        """The same of all acknowledgements."""
        return np.array([_ratio(*counts) for counts in self._counts(None, acks=True)])

    def data_loss_ratio(self) -> Floats:
        """The same of all data packets."""
        return np.array([_ratio(*counts) for counts in self._counts(None, acks=False)])

    def _counts(self, flows: Sequence[Indices] | None, acks: bool) -> list[tuple[int, int]]:
        found = []
        for r, (kind, ack, flow) in enumerate(zip(self.kind, self.ack, self.flow, strict=True)):
            which = ack == acks
            if flows is not None:
                which &= np.isin(flow, flows[r])
            found.append(
                (int((which & (kind == DROP)).sum()), int((which & (kind == ARRIVE)).sum()))
            )
        return found

    def delays(self, flows: Sequence[Indices]) -> list[Floats]:
        """Queueing delays of the packets of these flows that departed, s."""
        return [
            sojourn[(kind == DEPART) & np.isin(flow, wanted)]
            for sojourn, kind, flow, wanted in zip(
                self.sojourn, self.kind, self.flow, flows, strict=True
            )
        ]

    def loss_times(self, flows: Sequence[Indices]) -> list[Floats]:
        """Times of the losses of these flows, s."""
        return [
            time[(kind == DROP) & np.isin(flow, wanted)]
            for time, kind, flow, wanted in zip(self.time, self.kind, self.flow, flows, strict=True)
        ]

    def synchronization(self, flows: Sequence[Indices], quiet: float) -> Floats:
        """The mean share of the flows that lose packets in a loss event; an event ends with
        ``quiet`` seconds without losses. NaN without losses."""
        found = []
        for time, kind, flow, wanted in zip(self.time, self.kind, self.flow, flows, strict=True):
            lost = (kind == DROP) & np.isin(flow, wanted)
            found.append(synchronization_ratio(time[lost], flow[lost], len(wanted), quiet))
        return np.array(found)

    def variations(self) -> list[Floats]:
        """The delay variation of every data packet: its queueing delay above the smallest of its
        flow, s (RFC 5481, section 4.2)."""
        found = []
        for kind, ack, flow, sojourn in zip(
            self.kind, self.ack, self.flow, self.sojourn, strict=True
        ):
            there = (kind == DEPART) & ~ack
            _, of = np.unique(flow[there], return_inverse=True)
            least = np.full(of.max(initial=-1) + 1, np.inf)
            np.minimum.at(least, of, sojourn[there])
            found.append(sojourn[there] - least[of])
        return found

    def rates(self, flows: Sequence[Indices], begin: float, period: float) -> list[Floats]:
        """The rate of each of these flows in every period, s, bit/s on the wire without data that
        left before; only periods between that of a flow's first packet and that of its last."""
        found = []
        for r, wanted in enumerate(flows):
            there = (self.kind[r] == DEPART) & ~self.ack[r] & np.isin(self.flow[r], wanted)
            time = self.time[r][there] - begin
            flow, seq, size = (each[r][there] for each in (self.flow, self.seq, self.size))
            found.append(period_rates(time, flow, seq, size, period))
        return found


def period_rates(time: Floats, flow: Indices, seq: Indices, size: Indices, period: float) -> Floats:
    """The rates of flows in periods, bit/s, from their departures in order of time; each number of
    a flow counts once, and a flow's first and last period do not count."""
    if not len(time):
        return np.empty(0)
    _, first = np.unique((flow << 32) + seq, return_index=True)
    _, of = np.unique(flow[first], return_inverse=True)
    at = (time[first] / period).astype(np.int64)
    shape = of.max() + 1, at.max() + 1
    bits = np.zeros(shape)
    np.add.at(bits, (of, at), 8.0 * size[first])
    begins, ends = np.full(shape[0], shape[1]), np.full(shape[0], -1)
    np.minimum.at(begins, of, at)
    np.maximum.at(ends, of, at)
    periods = np.arange(shape[1])
    inside = (periods > begins[:, None]) & (periods < ends[:, None])
    return np.asarray(bits[inside] / period)


def synchronization_ratio(time: Floats, flow: Indices, flows: int, quiet: float) -> float:
    """The mean share of ``flows`` that lose packets in a loss event, for losses at these times.

    Within one loss event times are closer than ``quiet``. NaN without losses.
    """
    if not len(time):
        return float("nan")
    edges = np.flatnonzero(np.diff(time) > quiet) + 1
    return float(np.mean([len(np.unique(each)) / flows for each in np.split(flow, edges)]))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


class RunData:
    """A result with access for measures."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._packets: dict[str, Packets] = {}

    def flows_of(self, group: str) -> list[Indices]:
        """The numbers of the flows of a group, one array per replication."""
        groups, flow, replication, _ = self._flows
        return [
            flow[(groups == group) & (replication == r)] for r in range(self.result.replications)
        ]

    def of_kind(self, kind: str) -> list[Indices]:
        """The numbers of the flows of a kind of traffic, one array per replication."""
        table = self.result.flows
        kinds = np.array(table["kind"].to_pylist())
        _, flow, replication, _ = self._flows
        return [flow[(kinds == kind) & (replication == r)] for r in range(self.result.replications)]

    def recorded(self, link: str) -> bool:
        """Whether the packets of a link were recorded."""
        return "trace" in self.result.tables and link in self._recorded

    @cached_property
    def _recorded(self) -> set[str]:
        return set(self.result.to_arrow("trace")["link"].unique().to_pylist())

    @cached_property
    def _flows(self) -> tuple[npt.NDArray[np.str_], Indices, Indices, Floats]:
        table = self.result.flows
        return (
            np.array(table["group"].to_pylist()),
            table["flow"].to_numpy().astype(np.int64),
            table["replication"].to_numpy().astype(np.int64),
            table["start"].to_numpy(),
        )

    def packets(self, link: str) -> Packets:
        """The recorded packets of a traced link after the warm-up."""
        if not self.recorded(link):
            raise NotRecorded(f"the packets of {link} were not recorded")
        if link not in self._packets:
            self._packets[link] = self._read(link)
        return self._packets[link]

    def _read(self, link: str) -> Packets:
        table = self.result.to_arrow("trace")
        there = _named(table["link"], [link]) == 0
        time = table["t"].to_numpy()
        replication = table["replication"].to_numpy()
        kind = _named(table["kind"], KINDS)
        flow = table["flow"].to_numpy().astype(np.int64)
        seq = table["seq"].to_numpy().astype(np.int64)
        sojourn = table["sojourn"].to_numpy()
        ack = table["ack"].to_numpy().astype(bool)
        size = table["bytes"].to_numpy().astype(np.int64)
        begin, _ = self.result.span()
        rows = [
            np.flatnonzero(there & (replication == r) & (time >= begin))
            for r in range(self.result.replications)
        ]
        return Packets(
            time=[time[each] for each in rows],
            kind=[kind[each] for each in rows],
            flow=[flow[each] for each in rows],
            seq=[seq[each] for each in rows],
            sojourn=[sojourn[each] for each in rows],
            ack=[ack[each] for each in rows],
            size=[size[each] for each in rows],
        )

    def startup_times(self) -> Floats:
        """Mean time from the start of a traced flow to its first round-trip time, which ends the
        handshake, s; infinite if one did not come so far."""
        if "tcp" not in self.result.tables:
            raise NotRecorded("the connections of finite flows were not traced")
        table = self.result.to_arrow("tcp")
        rtt = table["rtt"].to_numpy()
        first: dict[tuple[int, int], float] = {}
        known = np.isfinite(rtt)
        columns = (table[name].to_numpy() for name in ("replication", "flow", "t"))
        replications, flows, times = (column[known] for column in columns)
        for r, flow, t in zip(replications.tolist(), flows.tolist(), times.tolist(), strict=True):
            first.setdefault((r, flow), t)
        traced = set(zip(table["replication"].to_pylist(), table["flow"].to_pylist(), strict=True))
        _, flow, replication, start = self._flows
        begin, _ = self.result.span()
        out: list[list[float]] = [[] for _ in range(self.result.replications)]
        for r, f, s in zip(replication.tolist(), flow.tolist(), start.tolist(), strict=True):
            if (r, f) in traced and s >= begin:
                out[r].append(first.get((r, f), np.inf) - s)
        return np.array([np.mean(each) if each else np.nan for each in out])


def _named(column: pa.ChunkedArray, names: Sequence[str]) -> Indices:
    """For each text of a column its index in ``names``; -1 for others."""
    encoded = column.combine_chunks().dictionary_encode()
    known = [names.index(name) if name in names else -1 for name in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    found: Indices = np.array([*known, -1], dtype=np.int64)[codes]
    return found
