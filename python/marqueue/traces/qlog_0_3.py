"""Flows as qlog 0.3, the version that qvis reads (draft-ietf-quic-qlog-main-schema-02,
draft-ietf-quic-qlog-quic-events-01).

The content is that of :mod:`marqueue.traces.qlog`; names of events, the header and lengths of
frames are those of the older drafts.
"""

from __future__ import annotations

from marqueue.traces.choice import Choice
from marqueue.traces.qlog import Record, records, text_sequence

NAMES = {
    "quic:packet_sent": "transport:packet_sent",
    "quic:packet_received": "transport:packet_received",
    "quic:packet_lost": "recovery:packet_lost",
    "quic:udp_datagrams_sent": "transport:datagrams_sent",
    "quic:udp_datagrams_received": "transport:datagrams_received",
    "quic:recovery_parameters_set": "recovery:parameters_set",
    "quic:recovery_metrics_updated": "recovery:metrics_updated",
    "quic:congestion_state_updated": "recovery:congestion_state_updated",
}
"""Events of version 0.3, by their names in the later drafts. Others have no older name."""


def qlog_0_3(choice: Choice, flow: int) -> bytes:
    """The file of a flow. Raises RunError if it would have too many events."""
    header, *events = records(choice, flow)
    return text_sequence([_header(header), *map(_event, events)])


def _header(header: Record) -> Record:
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": header["title"],
        "description": header["description"],
        "trace": {
            "vantage_point": header["trace"]["vantage_point"],
            "common_fields": {"time_format": "relative", "reference_time": 0},
        },
    }


def _event(event: Record) -> Record:
    data = event["data"]
    if "frames" in data:
        data = data | {"frames": [_frame(each) for each in data["frames"]]}
    return event | {"name": NAMES.get(event["name"], event["name"]), "data": data}


def _frame(frame: Record) -> Record:
    if "raw" not in frame:
        return frame
    kept = {key: value for key, value in frame.items() if key != "raw"}
    return kept | {"length": frame["raw"]["payload_length"]}
