"""Recorded packets and changes of senders, as Arrow tables (``docs/traces.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Array, Columns, Plan, Raw
from marqueue.scenario.catalogue import catalogue

#: Events of a packet, in the order of the engine's discriminants.
TRACE_KINDS = ("arrive", "mark", "drop", "depart")
NO_REASON = 255
#: Values of the ECN field of a packet, in the order of the engine's numbers.
ECN = ("not-ect", "ect", "ce", "ect1")
TRACE_FLAGS = ("ack", "syn", "ece", "cwr", "retransmit")

#: Columns of a model of the path: name and unit.
MODEL_FIGURES = {
    "max_bw": "packets/s",
    "bw": "packets/s",
    "min_rtt": "s",
    "pacing_rate": "packets/s",
    "bw_shortterm": "packets/s",
    "inflight_shortterm": "packets",
    "inflight_longterm": "packets",
    "extra_acked": "packets",
    "drained": "packets",
}
MODEL_COUNTS = {
    "in_flight": "packets",
    "delivered": "packets",
    "lost": "packets",
    "rounds": "1",
    "full_bw_count": "1",
    "spurious": "1",
}
MODEL_FLAGS = ("full_bw_reached", "idle_restart", "app_limited")


def trace_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table | None:
    """Every packet of the traced links (``docs/traces.md``); None if no link was traced."""
    rows = [
        (r, plan["links"][t["link"]]["name"], t)
        for r, raw in enumerate(raws)
        for t in raw["traces"]
    ]
    if not rows:
        return None

    def all_of(column: str) -> Array:
        return np.concatenate([t[column] for *_, t in rows])

    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(len(t["t"]), r) for r, _, t in rows))
    out.add_text("link", ((name, len(t["t"])) for _, name, t in rows))
    out.add("t", pa.float64(), "s", [all_of("t")])
    out.add_names("kind", TRACE_KINDS, all_of("kind"))
    reason = all_of("reason")
    out.add_names("reason", catalogue()["reasons"], np.ma.masked_equal(reason, NO_REASON))
    out.add("flow", pa.uint32(), "", [all_of("flow")])
    out.add("seq", pa.uint32(), "packets", [all_of("seq")])
    out.add("bytes", pa.uint32(), "bytes", [all_of("bytes")])
    out.add("queue", pa.uint32(), "packets", [all_of("queue")])
    out.add("sojourn", pa.float64(), "s", [all_of("sojourn")])
    for flag in TRACE_FLAGS:
        out.add(flag, pa.bool_(), "", [all_of(flag)])
    out.add_names("ecn", ECN, all_of("ecn"))
    out.add_optional("timestamp", pa.uint32(), "ticks", all_of("timestamp"))
    out.add_lists("sack", pa.uint32(), "packets", all_of("sack_length"), all_of("sack"))
    return out.table()


def _sender_columns(rows: Sequence[tuple[int, Any]]) -> Columns:
    """The columns of replication, flow and time of each change of a sender."""
    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(len(s["t"]), r) for r, s in rows))
    out.add("flow", pa.uint32(), "", (np.full(len(s["t"]), s["flow"]) for _, s in rows))
    out.add("t", pa.float64(), "s", (s["t"] for _, s in rows))
    return out


def tcp_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every change of the senders of the traced TCP flows; None if no flow was traced."""
    rows = [(r, s) for r, raw in enumerate(raws) for s in raw["senders"]]
    if not rows:
        return None
    out = _sender_columns(rows)
    for column in ("cwnd", "ssthresh"):
        out.add(column, pa.float64(), "packets", (s[column] for _, s in rows))
    for column in ("rtt", "srtt", "rto"):
        out.add(column, pa.float64(), "s", (s[column] for _, s in rows))
    return out.table()


def model_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every change of the models of the path of the traced TCP flows, those of BBR; None if there
    are none."""
    rows = [
        (r, {"flow": s["flow"], **s["model"]})
        for r, raw in enumerate(raws)
        for s in raw["senders"]
        if len(s["model"]["t"])
    ]
    if not rows:
        return None
    out = _sender_columns(rows)
    state = np.concatenate([m["state"] for _, m in rows])
    out.add_names("state", catalogue()["model_states"], state)
    for column, unit in MODEL_FIGURES.items():
        out.add(column, pa.float64(), unit, (m[column] for _, m in rows))
    for column, unit in MODEL_COUNTS.items():
        out.add(column, pa.uint32(), unit, (m[column] for _, m in rows))
    for column in MODEL_FLAGS:
        out.add(column, pa.bool_(), "", (m[column] for _, m in rows))
    return out.table()


def paced_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every change of the senders of the traced paced flows; None if no flow was traced."""
    rows = [(r, s) for r, raw in enumerate(raws) for s in raw["paced"]]
    if not rows:
        return None
    out = _sender_columns(rows)
    out.add("rate", pa.float64(), "bit/s", (s["rate"] for _, s in rows))
    out.add("price", pa.float64(), "1", (s["price"] for _, s in rows))
    return out.table()


def nanoseconds(packets: pa.Table) -> Array:
    """The times of rows of the table of packets, ns."""
    ns: Array = np.rint(packets["t"].to_numpy() * 1e9).astype(np.uint64)
    return ns


def serialization_times(packets: pa.Table, link: Plan) -> Array:
    """How long the transmission of packets takes, ns: by the link's rate at its start."""
    since, rates = np.array([(0, link["rate"]), *link.get("schedule", ())]).T
    rate = rates[np.searchsorted(since, nanoseconds(packets), side="right") - 1]
    took: Array = np.rint(packets["bytes"].to_numpy() * 8e9 / rate).astype(np.uint64)
    return took


def arrival_times(left: pa.Table, link: Plan) -> Array:
    """When packets that depart from a link arrive at its far end, ns, without impairments."""
    at_end: Array = nanoseconds(left) + serialization_times(left, link) + np.uint64(link["delay"])
    return at_end
