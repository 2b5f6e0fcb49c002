"""What was measured of flows, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Array, Columns, Plan, Raw
from marqueue.results.labels import RouteClasses
from marqueue.results.media import flow_columns


def class_indices(classes: RouteClasses, route: Array, propagation: Array | None) -> Array:
    """The class of each flow of a replication, as an index of its names.

    A class whose flows have different propagation delays is divided by their rank into parts of
    equal size.
    """
    first = np.array(classes.first, dtype=np.int32)[route]
    if propagation is None:
        return first
    out = first.copy()
    divided = {(f, p) for f, p in zip(classes.first, classes.parts, strict=True) if p > 1}
    for start, parts in divided:
        rows = np.flatnonzero(first == start)
        ranked = rows[np.argsort(propagation[rows], kind="stable")]
        out[ranked] += parts * np.arange(len(rows)) // max(len(rows), 1)
    return out


ROWS = 1 << 16
"""Rows of a part of the table: 8 MB."""


@dataclass(frozen=True)
class _Piece:
    """Consecutive flows of one replication, as the engine gives them."""

    replication: int
    first: int
    """The number of the first in the replication."""
    raw: Raw
    """The output of the replication, with the columns of these flows alone."""
    classes: Array
    """The class of each, as an index of the names of classes."""

    @property
    def size(self) -> int:
        """Number of flows."""
        return len(self.raw["flows"]["start"])

    def part(self, begin: int, end: int) -> _Piece:
        """The flows from ``begin`` to ``end`` (excluded) of these."""
        raw = {
            "ended": self.raw["ended"],
            "flows": {name: values[begin:end] for name, values in self.raw["flows"].items()},
            "media": [
                each | {"flow": each["flow"] - begin}
                for each in self.raw["media"]
                if begin <= each["flow"] < end
            ],
        }
        return _Piece(self.replication, self.first + begin, raw, self.classes[begin:end])


class FlowRows:
    """The table of flows from the output of the engine, whole or by parts.

    ``groups`` has the name of the group of each entry of the plan's traffic. The first ``warmup``
    windows are not part of the measured time.
    """

    def __init__(
        self,
        plan: Plan,
        raws: Sequence[Raw],
        groups: Sequence[str],
        classes: RouteClasses,
        warmup: int,
    ) -> None:
        self._groups, self._classes, self._warmup = groups, classes, warmup
        self._edges = raws[0]["edges"]
        self._kinds, stops = zip(*(_kind_and_stop(t) for t in plan["traffic"]), strict=True)
        self._stops = np.array(stops)
        # The rest of what the engine gives is not kept.
        windows = len(self._edges) - 1
        kept = [
            {
                "ended": raw["ended"],
                "media": raw["media"],
                "flows": raw["flows"]
                | {"delivered": np.reshape(raw["flows"]["delivered"], (-1, windows))},
            }
            for raw in raws
        ]
        self._has_media = any(raw["media"] for raw in raws)
        self._pieces = [
            _Piece(r, 0, raw, class_indices(classes, of["route"], of.get("propagation")))
            for r, raw in enumerate(kept)
            for of in [raw["flows"]]
        ]

    @property
    def num_rows(self) -> int:
        """Number of flows."""
        return sum(piece.size for piece in self._pieces)

    def table(self) -> pa.Table:
        """One row per flow."""
        return self._table(self._pieces)

    def parts(self) -> Iterator[pa.Table]:
        """The table in parts, each of one replication and with at most :data:`ROWS` rows."""
        for piece in self._pieces:
            for begin in range(0, piece.size, ROWS):
                yield self._table([piece.part(begin, begin + ROWS)])

    def _table(self, pieces: Sequence[_Piece]) -> pa.Table:
        flows = [piece.raw["flows"] for piece in pieces]
        sizes = [piece.size for piece in pieces]
        edges, warmup = self._edges, self._warmup
        windows = len(edges) - 1
        group = np.concatenate([f["group"] for f in flows])
        delivered = np.concatenate([f["delivered"] for f in flows])
        start, end = (np.concatenate([f[of] for f in flows]) for of in ("start", "end"))
        size = np.concatenate([f["size"] for f in flows])
        stop = self._stops[group]
        ended = np.repeat([piece.raw["ended"] for piece in pieces], sizes)
        present = np.fmin(np.fmin(end, stop), ended) - np.maximum(start, edges[warmup])
        bits = 8.0 * delivered[:, warmup:].sum(axis=1)
        out = Columns()
        replications = np.repeat([piece.replication for piece in pieces], sizes)
        out.add("replication", pa.uint32(), "", [replications])
        numbers = (piece.first + np.arange(piece.size) for piece in pieces)
        out.add("flow", pa.uint32(), "", numbers)
        out.add_names("group", self._groups, group)
        out.add_names("kind", self._kinds, group)
        out.add_names(
            "class", self._classes.names, np.concatenate([each.classes for each in pieces])
        )
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
        if self._has_media:
            of_media = flow_columns(
                [piece.raw for piece in pieces], edges[warmup], np.fmin(stop, ended)
            )
            for name, unit, values in of_media:
                out.add(name, pa.float64(), unit, [values])
        return out.table()


def _kind_and_stop(traffic: Raw) -> tuple[str, float]:
    """The kind of an entry of the plan's traffic, and the time at which its flows stop (NaN:
    never).

    The stop time of flows that arrive at random ends their arrivals, not the flows.
    """
    [(kind, settings)] = traffic["kind"].items()
    arrive = kind == "poisson" or settings.get("arrivals") is not None
    stop = None if arrive else settings["stop"]
    return kind, np.nan if stop is None else stop / 1e9
