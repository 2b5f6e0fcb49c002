"""Sampled congestion windows of a group of flows: their sum and their variances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Columns, Plan, Raw
from marqueue.statistics.estimates import Floats


@dataclass(frozen=True)
class CongestionWindows:
    """The congestion windows of a group of flows in one replication and one measuring window."""

    t: Floats
    """Times of the samples, s."""
    total: Floats
    """Sum of the windows at these times, packets."""
    variance: float
    """Sum over flows of each window's variance over time, packets squared."""

    @property
    def dependence(self) -> float:
        """h = Var(sum of W) / sum of Var(W) (Eun and Wang 2008, section V-C).

        It is 1 for independent windows, and the number of flows for windows that are all equal.
        """
        return float(self.total.var() / self.variance)


def cwnd_tables(
    plan: Plan, raws: Sequence[Raw], groups: Sequence[str]
) -> Mapping[str, pa.Table | None]:
    """The tables ``cwnd`` (the sum of a group's windows at each sample) and ``cwnd_variance`` (the
    sum of their variances in each measuring window); None if no windows were sampled.

    ``groups`` has the name of the group of each entry of the plan's traffic.
    """
    rows = [(r, name, of) for r, raw in enumerate(raws) for name, of in _merged(raw, groups)]
    if not rows:
        return {"cwnd": None, "cwnd_variance": None}
    tables = {}
    for name, places, values, unit in (
        ("cwnd", "t", "sum", "packets"),
        ("cwnd_variance", "window", "variances", "packets^2"),
    ):
        out = Columns()
        out.add("replication", pa.uint32(), "", (np.full(len(of[values]), r) for r, _, of in rows))
        out.add_text("group", ((group, len(of[values])) for _, group, of in rows))
        if places == "t":
            out.add("t", pa.float64(), "s", (of["t"] for _, _, of in rows))
        else:
            out.add("window", pa.uint32(), "", (np.arange(len(of[values])) for _, _, of in rows))
        out.add(values.removesuffix("s"), pa.float64(), unit, (of[values] for _, _, of in rows))
        tables[name] = out.table()
    return tables


def _merged(raw: Raw, groups: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """The samples by group of the scenario; a group has one entry in the plan per class."""
    merged: dict[str, dict[str, Any]] = {}
    for part in raw["cwnds"]:
        whole = merged.setdefault(groups[part["group"]], {"t": part["t"], "sum": 0, "variances": 0})
        for key in ("sum", "variances"):
            whole[key] = whole[key] + part[key]
    return list(merged.items())


def cwnds(
    tables: Mapping[str, pa.Table], group: str, window: int, begin: float, end: float
) -> list[CongestionWindows]:
    """The sampled windows of a group in one measuring window, from ``begin`` to ``end`` (s): one
    entry per replication. Raises KeyError if they were not sampled.
    """
    if "cwnd" not in tables or group not in tables["cwnd"]["group"].unique().to_pylist():
        raise KeyError(f"cwnd of {group!r}, expected a group of flows with sample_cwnd")
    samples, variances = (
        {name: table[name].to_numpy() for name in table.column_names}
        for table in (tables["cwnd"], tables["cwnd_variance"])
    )
    there = (samples["group"] == group) & (begin < samples["t"]) & (samples["t"] <= end)
    of = (variances["group"] == group) & (variances["window"] == window)
    return [
        CongestionWindows(samples["t"][here], samples["sum"][here], float(variance))
        for r, variance in zip(variances["replication"][of], variances["variance"][of], strict=True)
        for here in [there & (samples["replication"] == r)]
    ]
