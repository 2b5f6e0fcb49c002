"""What was measured at links, as Arrow tables; writing and reading tables as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from marqueue.results.columns import Array, Columns, Plan, Raw
from marqueue.results.pipe import PIPE_SUMS

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
COMPRESSED_FROM = 16 << 10
"""Bytes of a table from which compression saves anything. It takes 25 us for each column."""


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
    number_of = {name: i for i, name in enumerate(dict.fromkeys(name for _, name, *_ in rows))}
    index = np.array([number_of[name] for _, name, *_ in rows], dtype=np.int64)
    out.add_names("link", list(number_of), np.repeat(index, n))
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


def qdiscs_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table | None:
    """What tc says at the end of the queues that are qdiscs of kernels: one row per replication and
    link; None without such a queue."""
    rows = [
        (r, plan["links"][link]["name"], text)
        for r, raw in enumerate(raws)
        for link, text in raw.get("queue_reports", ())
    ]
    if not rows:
        return None
    out = Columns()
    out.add("replication", pa.uint32(), "", [np.array([r for r, _, _ in rows])])
    out.add_text("link", ((name, 1) for _, name, _ in rows))
    out.add_text("tc", ((text, 1) for _, _, text in rows))
    return out.table()


def queue_histogram_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Seconds with ``queue`` packets in the queue, by replication, link and window; long queues in
    bins (:class:`marqueue.results.window.Window`)."""
    rows = _windows(plan, raws)
    times = [window["queue_times"] for *_, window in rows]
    out = Columns()
    _window_keys(out, rows, [len(lengths) for lengths, _ in times])
    out.add("queue", pa.uint32(), "packets", (lengths for lengths, _ in times))
    out.add("seconds", pa.float64(), "s", (seconds for _, seconds in times))
    return out.table()


def delay_histogram_table(plan: Plan, raws: Sequence[Raw]) -> pa.Table:
    """Packets with a queueing delay in the bin that ends at ``upper``."""
    rows = _windows(plan, raws)
    out = Columns()
    _window_keys(out, rows, [len(window["delay_bins"][0]) for *_, window in rows])
    out.add("upper", pa.float64(), "s", (window["delay_bins"][0] for *_, window in rows))
    out.add("packets", pa.uint64(), "packets", (window["delay_bins"][1] for *_, window in rows))
    return out.table()


def bin_edges(raws: Sequence[Raw], of: str) -> Array:
    """Where the bins of each window begin and end in a table of histograms, which has the order of
    the table of windows. ``of``: ``queue_times`` or ``delay_bins``."""
    lengths = [
        len(window[of][0]) for raw in raws for link in raw["links"] for window in link["windows"]
    ]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def write(tables: Mapping[str, pa.Table], directory: Path) -> None:
    """Writes each table as NAME.parquet; the same tables give the same bytes."""
    for name, table in tables.items():
        write_parquet(table, directory / f"{name}.parquet")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes a table with a checksum for each page; the same table gives the same bytes."""
    pq.write_table(table, path, **_layout(table.schema, compressed=table.nbytes >= COMPRESSED_FROM))


def write_parts(parts: Iterable[pa.Table], path: Path) -> None:
    """Writes the parts of a table, at least one, as :func:`write_parquet` does, each as a row group
    (or several, if it is very large). Only one part is in memory."""
    parts = iter(parts)
    first = next(parts)
    with pq.ParquetWriter(path, first.schema, **_layout(first.schema, compressed=True)) as writer:
        writer.write_table(first)
        del first
        for part in parts:
            writer.write_table(part)


def _layout(schema: pa.Schema, *, compressed: bool) -> dict[str, Any]:
    """How the columns of a table are written."""
    return {
        "compression": "zstd" if compressed else "none",
        "write_page_checksum": True,
        # Times, rates and means differ: a dictionary of them is larger than they are.
        "use_dictionary": [field.name for field in schema if field.type != pa.float64()],
    }


class StoredRows:
    """A table in a file that :func:`write_parts` has written. The file must stay as it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.num_rows: int = pq.read_metadata(path).num_rows

    def table(self) -> pa.Table:
        """The whole table."""
        return pq.read_table(self._path, page_checksum_verification=True)

    def parts(self) -> Iterator[pa.Table]:
        """Its row groups."""
        with pq.ParquetFile(self._path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def read(files: Iterable[Path]) -> dict[str, pa.Table]:
    """Reads files that :func:`write` has written, by the name of the table."""
    return {path.stem: pq.read_table(path, page_checksum_verification=True) for path in files}
