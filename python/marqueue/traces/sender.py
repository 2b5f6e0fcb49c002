"""What the sender of a flow sends, receives and computes, from the tables of a result.

Packets are numbered as QUIC numbers them: each transmission has a number of its own, a
retransmission too, so that a tool can tell which of them an acknowledgement is for. TCP's
acknowledgements name data, not transmissions: they are taken to be for the latest one. What is in
the datagrams of a QUIC flow is not in the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from marqueue.results.rows import rows_where
from marqueue.results.trace_tables import arrival_times
from marqueue.traces.choice import Choice


@dataclass(frozen=True)
class Sent:
    """A packet of data leaves the sender."""

    t: float
    number: int
    seq: int
    """0 for the SYN."""
    bytes: int
    """On the wire."""
    retransmits: int | None
    """The number of the transmission that this one repeats."""
    ecn: str


@dataclass(frozen=True)
class Received:
    """An acknowledgement arrives at the sender."""

    t: float
    number: int
    """The how many-th of them, from 0."""
    bytes: int
    acked: list[tuple[int, int]]
    """Ranges of numbers of transmissions that it covers and that no earlier one covered."""
    ece: bool
    """Whether it echoes a mark."""
    in_flight: int
    """Bytes on the wire that are not acknowledged after it."""


@dataclass(frozen=True)
class Datagram:
    """A datagram of a QUIC flow leaves the sender, or arrives at it."""

    t: float
    direction: Literal["sent", "received"]
    bytes: int
    """On the wire."""
    ecn: str


@dataclass(frozen=True)
class Metrics:
    """The values of the sender's variables that changed."""

    t: float
    values: Mapping[str, float]
    """cwnd and ssthresh in packets; rtt, srtt and rto in s."""


@dataclass(frozen=True)
class AtLink:
    """A packet of the flow is marked or dropped at a link."""

    t: float
    kind: str
    link: str
    seq: int
    reason: str


Event = Sent | Received | Datagram | Metrics | AtLink

METRICS = ("cwnd", "ssthresh", "rtt", "srtt", "rto")


def events(choice: Choice, flow: int) -> list[Event]:
    """The events of a flow in the order of time.

    Packets are among them only if the flow's access link is traced; marks and drops those of the
    chosen links. Of events at the same time, packets come before what the sender computes.
    """
    found: list[Event] = [*_packets(choice, flow), *_at_links(choice, flow)]
    found += _metrics(choice, flow)
    # Sorting is stable: an acknowledgement comes before what it lets the sender send.
    return sorted(found, key=lambda event: event.t)


def _metrics(choice: Choice, flow: int) -> Iterator[Metrics]:
    if choice.tcp is None:
        return
    before: dict[str, Any] = {}
    for row in rows_where(choice.tcp, "flow", flow).to_pylist():
        changed = {
            name: row[name]
            for name in METRICS
            if row[name] is not None and row[name] != before.get(name)
        }
        before |= changed
        if changed:
            yield Metrics(row["t"], changed)


def _at_links(choice: Choice, flow: int) -> Iterator[AtLink]:
    if choice.packets is None:
        return
    of_flow = rows_where(choice.packets, "flow", flow)
    for link in choice.chosen_links:
        at = rows_where(of_flow, "link", link)
        for kind in ("mark", "drop"):
            for row in rows_where(at, "kind", kind).to_pylist():
                yield AtLink(row["t"], kind, link, row["seq"], row["reason"])


def _packets(choice: Choice, flow: int) -> list[Sent | Received | Datagram]:
    if choice.packets is None:
        return []
    forward, reverse = choice.route(flow)
    links = {link["name"]: link for link in choice.result.plan["links"]}
    first, last = links[forward[0]], links[reverse[-1]]
    if not (first["trace"] and last["trace"]):
        return []
    of_flow = rows_where(choice.packets, "flow", flow)
    data = _rows(of_flow, first["name"], "arrive")
    acks = _rows(of_flow, last["name"], "depart")
    received = arrival_times(acks, last) / 1e9
    # An acknowledgement lets the sender send, so that it comes first at equal times.
    merged = sorted(
        [(t, 0, row) for t, row in zip(received.tolist(), acks.to_pylist(), strict=True)]
        + [(row["t"], 1, row) for row in data.to_pylist()],
        key=lambda each: each[:2],
    )
    if choice.kind(flow) == "quic":
        return [
            Datagram(t, "received" if kind == 0 else "sent", row["bytes"], row["ecn"])
            for t, kind, row in merged
            if t < choice.end
        ]
    scoreboard = _Scoreboard()
    return [
        scoreboard.receive(t, row) if kind == 0 else scoreboard.send(t, row)
        for t, kind, row in merged
        if t < choice.end
    ]


def _rows(table: pa.Table, link: str, kind: str) -> pa.Table:
    return rows_where(rows_where(table, "link", link), "kind", kind)


@dataclass
class _Scoreboard:
    """Numbers transmissions and finds those that an acknowledgement covers."""

    sent: int = 0
    received: int = 0
    latest: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each unacknowledged packet: the number of its latest transmission, and its bytes."""
    in_flight: int = 0
    highest: int = -1
    in_order: bool = True
    """Whether ``latest`` has its packets in the order of their numbers. A packet that was
    acknowledged selectively and is sent again ends that."""

    def send(self, t: float, row: Mapping[str, Any]) -> Sent:
        seq, size = row["seq"], row["bytes"]
        before = self.latest.get(seq)
        self.in_order &= before is not None or seq > self.highest
        self.highest = max(self.highest, seq)
        number = self.sent
        self.sent += 1
        self.in_flight += size - (before[1] if before else 0)
        self.latest[seq] = number, size
        return Sent(t, number, seq, size, before[0] if before else None, row["ecn"])

    def receive(self, t: float, row: Mapping[str, Any]) -> Received:
        edges = row["sack"] or []
        ranges = list(zip(edges[::2], edges[1::2], strict=True))
        covered = []
        for seq in self.latest:
            if seq < row["seq"]:
                covered.append(seq)
            elif not ranges and self.in_order:
                break
            elif any(a <= seq < b for a, b in ranges):
                covered.append(seq)
        numbers = []
        for seq in covered:
            number, size = self.latest.pop(seq)
            self.in_flight -= size
            numbers.append(number)
        number = self.received
        self.received += 1
        return Received(t, number, row["bytes"], _ranges(numbers), row["ece"], self.in_flight)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers, each by its first and last."""
    if not numbers:
        return []
    ordered = np.sort(np.array(numbers))
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    firsts = ordered[np.concatenate([[0], breaks + 1])]
    lasts = ordered[np.concatenate([breaks, [len(ordered) - 1]])]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
