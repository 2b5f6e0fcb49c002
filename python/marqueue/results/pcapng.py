"""Traced links as pcapng files: from the table of packets to the engine's writer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

import marqueue._core as _core
from marqueue.results.columns import Array
from marqueue.results.data import ResultData
from marqueue.results.rows import rows_where
from marqueue.results.trace_tables import ECN, arrival_times, nanoseconds
from marqueue.scenario import ways_back

FLAGS = ("ack", "syn", "ece", "cwr")


def file_names(result: ResultData) -> dict[str, str]:
    """The name of the file of each traced link. A reverse direction is in the file of its link."""
    traced = [link["name"] for link in result.plan["links"] if link["trace"]]
    backs = ways_back(result.checked_scenario)
    within = {backs[name] for name in traced if name in backs}
    out: dict[str, str] = {}
    for name in traced:
        if name not in within:
            stem = re.sub(r"[^\w.]+", "-", name).strip("-.") or "link"
            twin = f"{stem}.pcapng" in out.values()
            out[name] = f"{stem}-{len(out)}.pcapng" if twin else f"{stem}.pcapng"
    return out


def write(result: ResultData, path: Path, link: str, replication: int) -> Path:
    """Writes the departures of a link, and the arrivals over its reverse direction if traced.

    Raises KeyError if the link was not traced.
    """
    traced = {each["name"]: each for each in result.plan["links"] if each["trace"]}
    if link not in traced:
        raise KeyError(f"link {link!r}, expected a traced one: {', '.join(traced) or 'none is'}")
    back = ways_back(result.checked_scenario).get(link, "")
    left = _departures(result, replication, link)
    seen = [(left, nanoseconds(left), False)]
    if back in traced:
        left = _departures(result, replication, back)
        seen.append((left, arrival_times(left, traced[back]), True))
    packets = pa.concat_tables([table for table, *_ in seen])
    ns = np.concatenate([ns for _, ns, _ in seen])
    inbound = np.concatenate([np.full(len(ns), inbound) for _, ns, inbound in seen])
    order = np.argsort(ns, kind="stable")
    order = order[ns[order] <= result.plan["duration"]]
    columns = {"ns": ns[order], "inbound": inbound[order]} | _columns(packets.take(order))
    transports = json.dumps(result.plan["transports"])
    _core.write_pcapng(path, link, transports, _flows(result, replication), columns)
    return path


def _departures(result: ResultData, replication: int, link: str) -> pa.Table:
    table = result.tables["trace"]
    for column, wanted in (("replication", replication), ("link", link), ("kind", "depart")):
        table = rows_where(table, column, wanted)
    return table


def _columns(packets: pa.Table) -> dict[str, Array]:
    """The columns that the engine's writer expects."""
    # Slow to import, and only a traced run writes packets.
    import pyarrow.compute as pc

    columns = {name: packets[name].to_numpy() for name in ("flow", "seq", "bytes", *FLAGS)}
    columns["ecn"] = pc.index_in(packets["ecn"], pa.array(ECN)).to_numpy().astype(np.uint8)
    columns["timestamp"] = pc.fill_null(packets["timestamp"].cast(pa.int64()), -1).to_numpy()
    lengths = pc.list_value_length(packets["sack"]).to_numpy()
    columns["sack_edges"] = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    columns["sack"] = pc.list_flatten(packets["sack"]).to_numpy()
    return columns


def _flows(result: ResultData, replication: int) -> dict[str, Array]:
    """The class and the transport (-1: UDP) of each flow, in the order of the flow table."""
    flows = rows_where(result.flows, "replication", replication)
    number = {name: i for i, name in enumerate(result.classes)}
    classes = np.array([number[name] for name in flows["class"].to_pylist()], dtype=np.int32)
    of_group = _transport_of_group(result)
    transport = [of_group[group] for group in flows["group"].to_pylist()]
    return {
        "class": classes.astype(np.uint32),
        "transport": np.array(transport, dtype=np.int64),
    }


def _transport_of_group(result: ResultData) -> dict[str, int]:
    """The index of each group's transport; -1 for UDP."""
    settings = [next(iter(entry["kind"].values())) for entry in result.plan["traffic"]]
    return {
        name: s.get("transport", -1) for name, s in zip(result.plan_groups, settings, strict=True)
    }
