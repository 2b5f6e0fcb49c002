"""Flows of TCP and QUIC as qlog: draft-ietf-quic-qlog-main-schema-14,
draft-ietf-quic-qlog-quic-events-13.

A file describes one flow as its sender sees it, in the streamable form of the format (QlogFileSeq:
JSON text sequences, RFC 7464), so that tools for QUIC show a flow of TCP. Events and their fields
are those of the drafts; what TCP has and QUIC has not is mapped thus:

- ``recovery_metrics_updated``: windows in bytes are packets times the payload of a segment; the
  retransmission timeout is the extra field ``rto``, in ms.
- ``packet_sent``: each transmission has a packet number of its own; data are a frame of stream 0.
- ``packet_received``: an acknowledgement; its ACK frame has the transmissions that it newly covers,
  and ``ece`` beside the event's data says that it echoes a mark. ``ecn`` beside the data of a
  ``packet_sent`` is its ECN field.
- ``packet_lost``: at the time of the retransmission, because TCP has no earlier event.
- ``congestion_state_updated``: ``slow_start`` below ssthresh, ``congestion_avoidance`` from it on.
- ``simulation:marker``: a mark or a drop at a traced link, which no sender can see.

A QUIC flow has its datagrams as ``udp_datagrams_sent`` and ``udp_datagrams_received``: tables of
packets do not say which QUIC packets and frames are in a datagram. Its metrics are the windows and
the smoothed round-trip time, the only one that the library tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from marqueue.results.labels import group_names
from marqueue.traces.choice import Choice
from marqueue.traces.sender import AtLink, Datagram, Metrics, Received, Sent, events

SUFFIX = ".sqlog"
"""Of JSON text sequences (main schema, section on file extensions)."""
QUIC_OVERHEAD, UDP_HEADER = 60, 28
"""Bytes of a full packet of a QUIC flow that are not data, and those of UDP and IP, as
``crates/sim/src/quic_plan.rs`` has them."""
SCHEMAS = ("urn:ietf:params:qlog:events:quic-13", "urn:ietf:params:qlog:events:simulation")
Record = dict[str, Any]


def qlog(choice: Choice, flow: int) -> bytes:
    """The file of a flow. Raises RunError if it would have too many events."""
    return text_sequence(records(choice, flow))


def records(choice: Choice, flow: int) -> Iterator[Record]:
    """The header and the events of a flow. Raises RunError if there are too many events."""
    choice.check_size(each for each in (choice.tcp, choice.packets) if each is not None)
    sender = _sender(choice, flow)
    yield _header(choice, flow, sender)
    yield from _events(choice, flow, sender)


def text_sequence(records: Iterable[Record]) -> bytes:
    """Records as a file: RFC 7464 has a record separator before each text, and a line feed behind
    it."""
    return b"".join(
        b"\x1e" + json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        for each in records
    )


@dataclass(frozen=True)
class _Sender:
    """What a file says of the sender of a flow."""

    protocol: str
    vantage: str
    """Its end of the connection, as qlog names it."""
    control: str
    window_unit: int
    """Bytes of a packet of its windows."""
    parameters: Record
    """Of ``recovery_parameters_set``."""
    metrics: Mapping[str, str]
    """The fields of ``recovery_metrics_updated``, by columns of the table."""


_WINDOWS = {"cwnd": "congestion_window", "ssthresh": "ssthresh"}
_TCP_METRICS = _WINDOWS | {"rtt": "latest_rtt", "srtt": "smoothed_rtt", "rto": "rto"}
_QUIC_METRICS = _WINDOWS | {"srtt": "smoothed_rtt"}


def _sender(choice: Choice, flow: int) -> _Sender:
    result = choice.result
    names = group_names(result.checked_scenario, result.plan)
    entry = result.plan["traffic"][names.index(choice.group(flow))]
    [(kind, settings)] = entry["kind"].items()
    if kind == "quic":
        return _Sender(
            protocol=f"QUIC of {settings.get('library', 'quinn')}-proto",
            vantage="server",
            control=settings["control"],
            window_unit=settings["packet"] - QUIC_OVERHEAD,
            parameters={"max_datagram_size": settings["packet"] - UDP_HEADER},
            metrics=_QUIC_METRICS,
        )
    transport = list(result.provenance.transports)[settings["transport"]]
    tcp = result.provenance.transports[transport]["values"]
    segment = int(float(tcp["segment"]))
    return _Sender(
        protocol="TCP",
        vantage="client",
        control=str(tcp["control"]),
        window_unit=segment,
        parameters={
            "timer_granularity": max(1, round(1e3 * float(tcp["granularity"]))),
            "max_datagram_size": segment,
            "initial_congestion_window": round(segment * float(tcp["initial_window"])),
        },
        metrics=_TCP_METRICS,
    )


def _header(choice: Choice, flow: int, sender: _Sender) -> Record:
    provenance = choice.result.provenance
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": f"{choice.result.name}: {choice.label(flow)}",
        "description": f"marqueue {provenance.version}, seed {provenance.seed}, replication "
        f"{choice.replication}; {sender.protocol} in a simulation",
        "trace": {
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
            "vantage_point": {"name": choice.label(flow), "type": sender.vantage},
            "event_schemas": list(SCHEMAS),
        },
    }


def _events(choice: Choice, flow: int, sender: _Sender) -> Iterator[Record]:
    segment = sender.window_unit
    yield _event(
        choice.start(flow),
        "simulation:scenario",
        {"name": choice.result.name, "details": {"control": sender.control}},
    )
    yield _event(choice.start(flow), "quic:recovery_parameters_set", sender.parameters)
    state = _State()
    for each in events(choice, flow):
        match each:
            case Sent():
                yield from _sent(each, segment)
            case Received():
                yield _received(each)
                yield _event(
                    each.t,
                    "quic:recovery_metrics_updated",
                    {"bytes_in_flight": each.in_flight},
                )
            case Datagram():
                yield _datagram(each)
            case Metrics():
                metrics = _metrics(each, sender)
                if metrics:
                    yield _event(each.t, "quic:recovery_metrics_updated", metrics)
                changed = state.update(each)
                if changed is not None:
                    yield _event(each.t, "quic:congestion_state_updated", changed)
            case AtLink():
                reason = f", {each.reason}" if each.reason else ""
                yield _event(
                    each.t,
                    "simulation:marker",
                    {"type": each.kind, "message": f"{each.link}: packet {each.seq}{reason}"},
                )


def _event(t: float, name: str, data: Record, **beside: object) -> Record:
    # Times of a run are whole nanoseconds.
    return {"time": round(1e3 * t, 6), "name": name, "data": data} | beside


def _header_of(number: int) -> Record:
    return {"packet_type": "1RTT", "packet_number": number}


def _sent(each: Sent, segment: int) -> Iterator[Record]:
    if each.retransmits is not None:
        yield _event(each.t, "quic:packet_lost", {"header": _header_of(each.retransmits)})
    raw = {"length": each.bytes}
    if each.seq == 0:
        # A SYN opens the connection and has no data.
        frame: Record = {"frame_type": "ping"}
    else:
        offset = (each.seq - 1) * segment
        payload = {"payload_length": min(segment, each.bytes)}
        frame = {"frame_type": "stream", "stream_id": 0, "offset": offset, "raw": payload}
    yield _event(
        each.t,
        "quic:packet_sent",
        {"header": _header_of(each.number), "raw": raw, "frames": [frame]},
        ecn=each.ecn,
    )


def _received(each: Received) -> Record:
    ack: Record = {"frame_type": "ack"}
    if each.acked:
        ack["acked_ranges"] = [[a] if a == b else [a, b] for a, b in each.acked]
    data = {"header": _header_of(each.number), "raw": {"length": each.bytes}, "frames": [ack]}
    return _event(each.t, "quic:packet_received", data, **({"ece": True} if each.ece else {}))


_ECN = {"not-ect": "Not-ECT", "ect": "ECT(0)", "ect1": "ECT(1)", "ce": "CE"}
"""The names of ECN fields in quic-events, by those of the table of packets."""


def _datagram(each: Datagram) -> Record:
    # Lengths of datagrams are those of UDP's payload.
    data = {"count": 1, "raw": [{"length": each.bytes - UDP_HEADER}], "ecn": [_ECN[each.ecn]]}
    return _event(each.t, f"quic:udp_datagrams_{each.direction}", data)


def _metrics(each: Metrics, sender: _Sender) -> Record:
    return {
        field: round(each.values[name] * sender.window_unit)
        if name in _WINDOWS
        else round(1e3 * each.values[name], 6)
        for name, field in sender.metrics.items()
        # Without a limit yet, ssthresh is infinite, which JSON cannot say.
        if isfinite(each.values.get(name, inf))
    }


class _State:
    """The state of congestion control as far as windows show it."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.name: str | None = None

    def update(self, each: Metrics) -> Record | None:
        """The change of state that new values mean."""
        self.values |= each.values
        if "cwnd" not in self.values or "ssthresh" not in self.values:
            return None
        slow = self.values["cwnd"] < self.values["ssthresh"]
        name = "slow_start" if slow else "congestion_avoidance"
        if name == self.name:
            return None
        before, self.name = self.name, name
        return {"new": name} | ({"old": before} if before else {})
