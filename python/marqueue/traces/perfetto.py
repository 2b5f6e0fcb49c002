"""Links and flows of a result as a Perfetto trace, for https://ui.perfetto.dev and its SQL.

- A track for each traced link has a slice for each packet in transmission, instants for marks and
  drops, and counters: packets waiting and sojourn time by packet; the sampled series of the link
  and the variables of its AQM.
- A track for each traced TCP or QUIC flow has counters of its window, ssthresh, round-trip times
  and retransmission timeout.

Times are ns since the start of the run. The library ``perfetto`` has the definitions of the format
and writes it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.rows import rows_where
from marqueue.results.tables import SERIES
from marqueue.results.trace_tables import nanoseconds, serialization_times
from marqueue.traces.choice import Choice

SUFFIX = ".pftrace"
FLOW_COUNTERS = {
    "cwnd": "packets",
    "ssthresh": "packets",
    "rtt": "s",
    "srtt": "s",
    "rto": "s",
}
"""Counters of a flow, and their units."""
PACKET_COUNTERS = {"queue": "packets", "sojourn": "s"}
"""Counters of a link that the table of packets has: at arrivals, and at departures."""
DISTURBED = {"mark": "packets marked", "drop": "packets dropped"}
"""The tracks of instants."""
SEQUENCE = 1
"""All packets of the file are from one writer."""


def perfetto(choice: Choice) -> bytes:
    """The trace. Raises RunError if it would have too many events."""
    writer = _Writer()
    choice.check_size(each for each in (choice.tcp, choice.packets) if each is not None)
    for link in choice.chosen_links:
        _link(writer, choice, link)
    for flow in choice.chosen_flows:
        _flow(writer, choice, flow)
    return writer.bytes()


def _link(writer: _Writer, choice: Choice, link: str) -> None:
    plan = next(each for each in choice.result.plan["links"] if each["name"] == link)
    process = writer.track(f"link {link}")
    assert choice.packets is not None, "a link that is chosen is traced"
    rows = rows_where(choice.packets, "link", link)
    if choice.flows:
        # Slow to import, and only a traced run has packets.
        import pyarrow.compute as pc

        rows = rows.filter(pc.is_in(rows["flow"], pa.array(choice.flows, pa.uint32())))
    transmission = writer.track("transmission", process)
    left = rows_where(rows, "kind", "depart")
    took = serialization_times(left, plan)
    for begin, end, row in zip(
        nanoseconds(left).tolist(),
        (nanoseconds(left) + took).tolist(),
        left.to_pylist(),
        strict=True,
    ):
        writer.slice(transmission, begin, end, _packet_name(row), _details(row))
    for kind in ("mark", "drop"):
        of_kind = rows_where(rows, "kind", kind)
        if of_kind.num_rows:
            track = writer.track(DISTURBED[kind], process)
            for at, row in zip(nanoseconds(of_kind).tolist(), of_kind.to_pylist(), strict=True):
                writer.instant(track, at, f"{kind}: {row['reason']}", _details(row))
    for name, kind in (("queue", "arrive"), ("sojourn", "depart")):
        of_kind = rows_where(rows, "kind", kind)
        if of_kind.num_rows:
            counter = writer.counter(name, PACKET_COUNTERS[name], process)
            writer.values(counter, nanoseconds(of_kind), of_kind[name].to_numpy())
    for name, unit, times, values in _series(choice, link):
        writer.values(writer.counter(name, unit, process), times, values)


def _series(choice: Choice, link: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Sampled series of a link that are not there by packet: name, unit, times (ns), values."""
    table = choice.result.tables.get("series")
    if table is None or link not in choice.result.links:
        return
    table = rows_where(rows_where(table, "link", link), "replication", choice.replication)
    times = nanoseconds(table)
    within = (times >= choice.begin * 1e9) & (times < choice.end * 1e9)
    for field in table.schema:
        if field.name in ("replication", "link", "t", "queue", "queue_bytes"):
            continue
        values = table[field.name].to_numpy().astype(float)
        present = within & ~np.isnan(values)
        if present.any():
            unit = SERIES[field.name][1] if field.name in SERIES else _unit(field)
            yield field.name, unit, times[present], values[present]


def _unit(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"unit", b"").decode())


def _flow(writer: _Writer, choice: Choice, flow: int) -> None:
    if choice.tcp is None:
        return
    process = writer.track(choice.label(flow))
    rows = rows_where(choice.tcp, "flow", flow)
    times = nanoseconds(rows)
    for name, unit in FLOW_COUNTERS.items():
        values = rows[name].to_numpy().astype(float)
        present = ~np.isnan(values)
        if name == "ssthresh" and values.size:
            # Before the first reduction it is the largest possible window, or infinite, beside
            # which nothing else of the curve can be seen.
            present &= np.minimum.accumulate(values) < values[0]
        changed = np.concatenate([[True], values[present][1:] != values[present][:-1]])
        if present.any():
            counter = writer.counter(name, unit, process)
            writer.values(counter, times[present][changed], values[present][changed])


def _packet_name(row: dict[str, Any]) -> str:
    return f"flow {row['flow']} {'ack' if row['ack'] else 'packet'} {row['seq']}"


def _details(row: dict[str, Any]) -> dict[str, int | str]:
    out: dict[str, int | str] = {name: row[name] for name in ("flow", "seq", "bytes", "ecn")}
    return out | {flag: 1 for flag in ("retransmit", "ece", "cwr") if row[flag]}


class _Writer:
    """Tracks and events in the library's form."""

    def __init__(self) -> None:
        # An optional package, and slow to import.
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        self._event = protos.TrackEvent
        self._cleared = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._out = io.BytesIO()
        self._builder = StreamingTraceProtoBuilder(self._out)
        self._tracks = 0

    def bytes(self) -> bytes:
        return self._out.getvalue()

    def _packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        if self._tracks == 1:
            # The first packet says that nothing of the writer is missing before it.
            packet.sequence_flags = self._cleared
        return packet

    def _descriptor(self, name: str, parent: int | None) -> Any:
        self._tracks += 1
        packet = self._packet()
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.name = name
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        return packet

    def track(self, name: str, parent: int | None = None) -> int:
        """Begins a track of slices and instants."""
        self._builder.write_packet(self._descriptor(name, parent))
        return self._tracks

    def counter(self, name: str, unit: str, parent: int) -> int:
        """Begins a counter."""
        packet = self._descriptor(name, parent)
        packet.track_descriptor.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def _write(self, track: int, at: int, kind: int, **fields: Any) -> None:
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        if "name" in fields:
            event.name = fields["name"]
        for name, value in fields.get("details", {}).items():
            note = event.debug_annotations.add()
            note.name = name
            if isinstance(value, str):
                note.string_value = value
            else:
                note.int_value = value
        if "value" in fields:
            event.double_counter_value = fields["value"]
        self._builder.write_packet(packet)

    def slice(
        self, track: int, begin: int, end: int, name: str, details: dict[str, int | str]
    ) -> None:
        self._write(track, begin, self._event.TYPE_SLICE_BEGIN, name=name, details=details)
        self._write(track, end, self._event.TYPE_SLICE_END)

    def instant(self, track: int, at: int, name: str, details: dict[str, int | str]) -> None:
        self._write(track, at, self._event.TYPE_INSTANT, name=name, details=details)

    def values(self, counter: int, times: Iterable[Any], values: Iterable[Any]) -> None:
        for at, value in zip(times, values, strict=True):
            self._write(counter, int(at), self._event.TYPE_COUNTER, value=float(value))
