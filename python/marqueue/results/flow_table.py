"""What was measured of flows, as an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence

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
    for name, unit, values in flow_columns(raws, edges[warmup], np.fmin(stop, ended)):
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
