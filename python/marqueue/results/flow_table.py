"""What was measured of flows, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from marqueue._core import FlowFile
from marqueue.results import media
from marqueue.results.columns import Array, Columns, Plan, Raw
from marqueue.results.labels import RouteClasses
from marqueue.results.raw_flows import ROWS, RawColumns, flow_columns, flow_count, whole_column


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


@dataclass(frozen=True)
class _Piece:
    """Consecutive flows of one replication, in memory."""

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


class _Replication:
    """The flows of one replication, in memory or in a file. The rest of what the engine gives is
    not kept."""

    def __init__(self, number: int, raw: Raw, classes: RouteClasses) -> None:
        self._number = number
        self._ended, self._media = raw["ended"], raw["media"]
        self._windows = len(raw["edges"]) - 1
        self._flows: RawColumns | FlowFile = raw["flows"]
        self._names = classes
        self._divided: Array | None = None
        """The class of each flow, where that depends on the other flows of its class."""
        if any(parts > 1 for parts in classes.parts):
            propagation = whole_column(self._flows, "propagation")
            route = whole_column(self._flows, "route")
            if propagation is not None and route is not None:
                self._divided = class_indices(classes, route, propagation)

    @property
    def size(self) -> int:
        """Number of flows."""
        return flow_count(self._flows)

    @property
    def has_media(self) -> bool:
        """Whether some are media flows."""
        return bool(self._media)

    def piece(self, begin: int, end: int) -> _Piece:
        """The flows from ``begin`` to ``end`` (excluded)."""
        flows = flow_columns(self._flows, begin, end)
        delivered = np.reshape(flows["delivered"], (-1, self._windows))
        raw = {
            "ended": self._ended,
            "flows": {**flows, "delivered": delivered},
            "media": [
                each | {"flow": each["flow"] - begin}
                for each in self._media
                if begin <= each["flow"] < end
            ],
        }
        if self._divided is None:
            classes = class_indices(self._names, flows["route"], None)
        else:
            classes = self._divided[begin:end]
        return _Piece(self._number, begin, raw, classes)


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
        self._replications = [_Replication(r, raw, classes) for r, raw in enumerate(raws)]
        self._has_media = any(each.has_media for each in self._replications)

    @property
    def num_rows(self) -> int:
        """Number of flows."""
        return sum(each.size for each in self._replications)

    def table(self) -> pa.Table:
        """One row per flow."""
        return self._table([each.piece(0, each.size) for each in self._replications])

    def parts(self) -> Iterator[pa.Table]:
        """The table in parts, each of one replication and with at most
        :data:`~marqueue.results.raw_flows.ROWS` rows."""
        for each in self._replications:
            for begin in range(0, each.size, ROWS):
                yield self._table([each.piece(begin, begin + ROWS)])

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
            of_media = media.flow_columns(
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
