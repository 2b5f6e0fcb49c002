"""The data of a result as Arrow tables, made from the output of the engine and stored as Parquet.

Each column has its unit in the metadata of its field. Missing values are null: the end of a flow
that did not finish, or a probe that a link does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from marqueue._core import REASONS
from marqueue.results.labels import RouteClasses
from marqueue.results.pipe import PIPE_SUMS

Raw = Mapping[str, Any]
Plan = Mapping[str, Any]
Array = npt.NDArray[Any]

#: Events of a packet, in the order of the engine's discriminants.
TRACE_KINDS = ("arrive", "mark", "drop", "depart")
NO_REASON = 255
#: Values of the ECN field of a packet, in the order of the engine's numbers.
ECN = ("not-ect", "ect", "ce")
TRACE_FLAGS = ("ack", "syn", "ece", "cwr", "retransmit")

SERIES = {
    "queue": (pa.uint32(), "packets"),
    "queue_bytes": (pa.uint64(), "bytes"),
    "utilization": (pa.float64(), "1"),
    "drops": (pa.uint32(), "packets"),
    "marks": (pa.uint32(), "packets"),
}
COUNTERS = ("arrivals", "arrived_bytes", "departures", "departed_bytes", "dropped_bytes")
WORK = {"bits": ("capacity_bits", "sent_bits"), "cycles": ("capacity_cycles", "used_cycles")}
"""Columns of capacity and work done, by the unit of the server: bits of links, cycles of CPUs."""
SUMS = {
    "delay_sum": "s",
    "delay_sum_sq": "s^2",
    "jitter_sum": "s",
}


class Columns:
    """Builds a table, column by column."""

    def __init__(self) -> None:
        self.fields: list[pa.Field] = []
        self.arrays: list[pa.Array] = []

    def add(self, name: str, type_: pa.DataType, unit: str, parts: Iterable[Any]) -> None:
        """Appends a column, the concatenation of ``parts``; NaN becomes null."""
        pieces = [np.asarray(p) for p in parts]
        values = np.concatenate(pieces) if pieces else np.empty(0)
        self.arrays.append(pa.array(values, type=type_, from_pandas=True))
        self.fields.append(pa.field(name, type_, metadata={"unit": unit}))

    def add_optional(self, name: str, type_: pa.DataType, unit: str, values: Array) -> None:
        """Appends a column of integers; negative ones become null."""
        self.arrays.append(pa.array(values, mask=values < 0).cast(type_))
        self.fields.append(pa.field(name, type_, metadata={"unit": unit}))

    def add_text(self, name: str, parts: Iterable[tuple[str, int]]) -> None:
        """Appends a column of text from (text, number of repetitions)."""
        pieces = [pa.repeat(pa.scalar(text, pa.string()), n) for text, n in parts]
        empty = pa.array([], pa.string())
        self.arrays.append(pa.concat_arrays(pieces) if pieces else empty)
        self.fields.append(pa.field(name, pa.string(), metadata={"unit": ""}))

    def add_names(self, name: str, names: Sequence[str], index: Array) -> None:
        """Appends a column of text from indices into ``names``; masked ones become null."""
        column = pa.array(names, pa.string()).take(pa.array(index))
        self.arrays.append(column)
        self.fields.append(pa.field(name, pa.string(), metadata={"unit": ""}))

    def add_lists(
        self, name: str, type_: pa.DataType, unit: str, lengths: Array, values: Array
    ) -> None:
        """Appends a column of lists; ``lengths[i]`` of the ``values`` are in row i."""
        edges = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        # Parquet names the items of a list like this, so reading and writing keeps the bytes.
        kind = pa.large_list(pa.field("element", type_))
        column = pa.LargeListArray.from_arrays(pa.array(edges), pa.array(values, type_), type=kind)
        self.arrays.append(column)
        self.fields.append(pa.field(name, column.type, metadata={"unit": unit}))

    def table(self) -> pa.Table:
        """The table."""
        return pa.Table.from_arrays(self.arrays, schema=pa.schema(self.fields))


def link_names(plan: Plan) -> list[str]:
    """The names of the metered links, in the order of the plan."""
    return [link["name"] for link in plan["links"] if link["queue"] is not None]


def served_units(plan: Plan) -> dict[str, str]:
    """The unit of work of each entry of the plan's links: bits or cycles."""
    return {link["name"]: "cycles" if link.get("cpu") else "bits" for link in plan["links"]}


def pipe_names(plan: Plan) -> list[str]:
    """The names of the impaired links, in the order of the plan."""
    return [link["name"] for link in plan["links"] if link.get("pipe")]


def _links(plan: Plan, raws: Sequence[Raw]) -> list[tuple[int, str, Raw]]:
    """(replication, link, measurements), in the order of all tables."""
    return [
        (r, plan["links"][link["link"]]["name"], link)
        for r, raw in enumerate(raws)
        for link in raw["links"]
    ]


def series_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Time series: one row per replication, link and sample; a column for each probe."""
    links = _links(plan, raws)
    rows = [(r, name, link["series"]) for r, name, link in links]
    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(len(s["t"]), r) for r, _, s in rows))
    out.add_text("link", ((name, len(s["t"])) for _, name, s in rows))
    out.add("t", pa.float64(), "s", (s["t"] for _, _, s in rows))
    for column, (type_, unit) in SERIES.items():
        out.add(column, type_, unit, (s[column] for _, _, s in rows))
    units = {p: u for _, _, s in rows for p, u in s["probe_units"].items()}
    for probe in sorted(units):
        missing = [np.full(len(s["t"]), np.nan) for _, _, s in rows]
        parts = (s["probes"].get(probe, m) for (_, _, s), m in zip(rows, missing, strict=True))
        out.add(probe, pa.float64(), units[probe], parts)
    return out.table()


def _windows(plan: Plan, raws: Sequence[Raw]) -> list[tuple[int, str, int, Raw]]:
    """(replication, link, window, sums), in the order of all tables."""
    return [
        (r, name, w, window)
        for r, name, link in _links(plan, raws)
        for w, window in enumerate(link["windows"])
    ]


def _reasons(rows: Iterable[tuple[int, str, int, Raw]], of: str) -> list[str]:
    return sorted({reason for *_, window in rows for reason in window[of]})


def _window_keys(out: Columns, rows: Sequence[tuple[int, str, int, Raw]], n: Sequence[int]) -> None:
    """Adds the columns that identify a window; ``n[i]`` rows for window ``i``."""
    out.add("replication", pa.uint32(), "", [np.repeat([r for r, *_ in rows], n)])
    out.add_text("link", ((name, k) for (_, name, _, _), k in zip(rows, n, strict=True)))
    out.add("window", pa.uint32(), "", [np.repeat([w for _, _, w, _ in rows], n)])


def windows_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Sums and counts: one row per replication, link and window."""
    rows = _windows(plan, raws)
    edges = raws[0]["edges"]
    out = Columns()
    _window_keys(out, rows, [1] * len(rows))
    out.add("begin", pa.float64(), "s", [[edges[w] for _, _, w, _ in rows]])
    ends = [min(edges[w + 1], raws[r]["ended"]) for r, _, w, _ in rows]
    out.add("end", pa.float64(), "s", [ends])
    for column in COUNTERS:
        unit = "bytes" if column.endswith("bytes") else "packets"
        out.add(column, pa.uint64(), unit, [[window[column] for *_, window in rows]])
    served = served_units(plan)
    for unit in sorted({served[name] for name in link_names(plan)}):
        for column, of in zip(WORK[unit], ("capacity", "used"), strict=True):
            values = [w[of] if served[name] == unit else np.nan for _, name, _, w in rows]
            out.add(column, pa.float64(), unit, [values])
    for column, unit in SUMS.items():
        out.add(column, pa.float64(), unit, [[window[column] for *_, window in rows]])
    for of in ("drops", "marks"):
        for reason in _reasons(rows, of):
            counts = [window[of].get(reason, 0) for *_, window in rows]
            out.add(f"{of}_{reason}", pa.uint64(), "packets", [counts])
    return out.table()


def shares_table(plan: Plan, raws: Sequence[Raw], groups: Sequence[str]) -> pa.Table | None:
    """Work done for each group of traffic: one row per replication, link, window and group.

    ``groups`` has the name of the group of each entry of the plan's traffic. None in a scenario
    without a CPU, in which groups are not told apart.
    """
    classes = {entry.get("class"): g for g, entry in zip(groups, plan["traffic"], strict=True)}
    if None in classes:
        return None
    rows = _windows(plan, raws)
    served = served_units(plan)
    out = Columns()
    _window_keys(out, rows, [len(classes)] * len(rows))
    names = [classes[c] for c in sorted(classes)]
    out.add_text("group", ((name, 1) for _ in rows for name in names))
    for unit, (_, column) in WORK.items():
        values = (
            w["used_by_class"][sorted(classes)] if served[name] == unit else [np.nan] * len(classes)
            for _, name, _, w in rows
        )
        out.add(column, pa.float64(), unit, values)
    return out.table()


def pipes_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table | None:
    """Sums of impaired pipes: one row per replication, link and window; None without
    impairments."""
    rows = [
        (r, plan["links"][p["link"]]["name"], p) for r, raw in enumerate(raws) for p in raw["pipes"]
    ]
    if not rows:
        return None
    n = len(raws[0]["edges"]) - 1
    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(n, r) for r, _, _ in rows))
    out.add_text("link", ((name, n) for _, name, _ in rows))
    out.add("window", pa.uint32(), "", (np.arange(n) for _ in rows))
    for column, (type_, unit) in PIPE_SUMS.items():
        out.add(column, type_, unit, (p[column] for _, _, p in rows))
    return out.table()


def queue_histogram_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Seconds with ``queue`` packets in the queue, by replication, link and window."""
    rows = _windows(plan, raws)
    held = [np.flatnonzero(window["queue_s"]) for *_, window in rows]
    out = Columns()
    _window_keys(out, rows, [len(h) for h in held])
    out.add("queue", pa.uint32(), "packets", held)
    seconds = (window["queue_s"][h] for (*_, window), h in zip(rows, held, strict=True))
    out.add("seconds", pa.float64(), "s", seconds)
    return out.table()


def delay_histogram_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Packets with a queueing delay in the bin that ends at ``upper``."""
    rows = _windows(plan, raws)
    out = Columns()
    _window_keys(out, rows, [len(window["delay_bins"][0]) for *_, window in rows])
    out.add("upper", pa.float64(), "s", (window["delay_bins"][0] for *_, window in rows))
    out.add("packets", pa.uint64(), "packets", (window["delay_bins"][1] for *_, window in rows))
    return out.table()


def class_indices(classes: RouteClasses, route: Array, propagation: Array | None) -> Array:
    """The class of each flow of a replication, as an index of its names.

    A class whose flows have different propagation delays is divided by their rank into parts of
    equal size.
    """
    first = np.array(classes.first)[route]
    if propagation is None:
        return first
    out = first.copy()
    divided = {(f, p) for f, p in zip(classes.first, classes.parts, strict=True) if p > 1}
    for start, parts in divided:
        rows = np.flatnonzero(first == start)
        ranked = rows[np.argsort(propagation[rows], kind="stable")]
        out[ranked] += parts * np.arange(len(rows)) // max(len(rows), 1)
    return out


def flows_table(
    plan: Plan,
    raws: Sequence[Raw],
    groups: Sequence[str],
    classes: RouteClasses,
    warmup: int,
) -> pa.Table:
    """One row per flow.

    ``groups`` has the name of the group of each entry of the plan's traffic. The first
    ``warmup`` windows are not part of the measured time.
    """
    flows = [raw["flows"] for raw in raws]
    sizes = [len(f["start"]) for f in flows]
    edges = raws[0]["edges"]
    windows = len(edges) - 1
    kinds, stops = zip(*(_kind_and_stop(t) for t in plan["traffic"]), strict=True)
    group = np.concatenate([f["group"] for f in flows])
    delivered = np.concatenate([np.reshape(f["delivered"], (-1, windows)) for f in flows])
    start, end = (np.concatenate([f[of] for f in flows]) for of in ("start", "end"))
    size = np.concatenate([f["size"] for f in flows])
    stop = np.array(stops)[group]
    ended = np.repeat([raw["ended"] for raw in raws], sizes)
    present = np.fmin(np.fmin(end, stop), ended) - np.maximum(start, edges[warmup])
    bits = 8.0 * delivered[:, warmup:].sum(axis=1)
    out = Columns()
    out.add("replication", pa.uint32(), "", [np.repeat(np.arange(len(raws)), sizes)])
    out.add("flow", pa.uint32(), "", (np.arange(n) for n in sizes))
    out.add_names("group", groups, group)
    out.add_names("kind", kinds, group)
    named = [class_indices(classes, f["route"], f.get("propagation")) for f in flows]
    out.add_names("class", classes.names, np.concatenate(named))
    if "propagation" in flows[0]:
        out.add("propagation", pa.float64(), "s", (f["propagation"] for f in flows))
    out.add("start", pa.float64(), "s", [start])
    out.add("stop", pa.float64(), "s", [stop])
    out.add("end", pa.float64(), "s", [end])
    out.add("fct", pa.float64(), "s", [np.where(size > 0, end - start, np.nan)])
    out.add("size", pa.uint32(), "packets", [size])
    for w in range(windows):
        out.add(f"delivered_{w}", pa.uint64(), "bytes", [delivered[:, w]])
    for column in ("sent", "retransmits"):
        out.add(column, pa.uint64(), "packets", (f[column] for f in flows))
    for column in ("timeouts", "ecn_cuts"):
        out.add_optional(column, pa.uint32(), "", np.concatenate([f[column] for f in flows]))
    goodput = np.divide(bits, present, out=np.full(len(bits), np.nan), where=present > 0)
    out.add("goodput", pa.float64(), "bit/s", [goodput])
    return out.table()


def _kind_and_stop(traffic: Raw) -> tuple[str, float]:
    """The kind of an entry of the plan's traffic, and the time at which its flows stop (NaN:
    never).

    The stop time of Poisson traffic ends the arrivals of flows, not the flows.
    """
    [(kind, settings)] = traffic["kind"].items()
    stop = None if kind == "poisson" else settings["stop"]
    return kind, np.nan if stop is None else stop / 1e9


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
    out.add_names("reason", REASONS, np.ma.masked_equal(reason, NO_REASON))
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


def paced_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every change of the senders of the traced paced flows; None if no flow was traced."""
    rows = [(r, s) for r, raw in enumerate(raws) for s in raw["paced"]]
    if not rows:
        return None
    out = _sender_columns(rows)
    out.add("rate", pa.float64(), "bit/s", (s["rate"] for _, s in rows))
    out.add("price", pa.float64(), "1", (s["price"] for _, s in rows))
    return out.table()


def write(tables: Mapping[str, pa.Table], directory: Path) -> None:
    """Writes each table as NAME.parquet; the same tables give the same bytes."""
    for name, table in tables.items():
        write_parquet(table, directory / f"{name}.parquet")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes a table with a checksum for each page; the same table gives the same bytes."""
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def read(files: Iterable[Path]) -> dict[str, pa.Table]:
    """Reads files that :func:`write` has written, by the name of the table."""
    return {path.stem: pq.read_table(path, page_checksum_verification=True) for path in files}
