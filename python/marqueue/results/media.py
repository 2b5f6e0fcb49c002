"""Frames of media flows: their delay, freezes and rate.

A frame's delay is the time from its making to its showing. A freeze is a gap between two shown
frames of more than three times the time between frames, and of more than that time and 150 ms
(``freezeCount`` of W3C's Identifiers for WebRTC's Statistics, which takes the mean time between the
latest 30 frames where this is the encoder's); all of the gap is frozen time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Columns, Raw
from marqueue.results.figure import Figure
from marqueue.statistics.estimates import Floats, quantile

FREEZE = 0.15
"""s."""

#: Columns of a sender's changes with their units.
SENDER = {
    "target": "bit/s",
    "window": "bytes",
    "in_flight": "bytes",
    "qdelay": "s",
    "srtt": "s",
    "mark_share": "1",
    "queued": "packets",
}


@dataclass(frozen=True)
class Frames:
    """The frames of the media flows of one replication, or of a part of them, in a window.

    Lists have an array per flow. ``made`` and ``shown`` in s, ``shown`` NaN for frames that never
    were; ``until`` is the end of the flow or of the window, s, ``period`` the time between frames,
    s; ``size`` in bytes of RTP packets.
    """

    until: list[float]
    made: list[Floats]
    shown: list[Floats]
    size: list[Floats]
    period: list[float]

    @property
    def count(self) -> int:
        """Number of frames made."""
        return sum(map(len, self.made))

    @property
    def lost(self) -> int:
        """Number of frames that were never shown, though a later one was."""
        seen = [np.flatnonzero(np.isfinite(shown)) for shown in self.shown]
        return sum(int(each[-1]) + 1 - len(each) for each in seen if len(each))

    @cached_property
    def delays(self) -> Floats:
        """Of all frames that were shown, s."""
        delays = [shown - made for made, shown in zip(self.made, self.shown, strict=True)]
        found: Floats = np.concatenate(delays) if delays else np.empty(0)
        return found[np.isfinite(found)]

    @cached_property
    def freezes(self) -> Floats:
        """The lengths of all freezes, s."""
        found = [freezes(*flow) for flow in zip(self.shown, self.until, self.period, strict=True)]
        return np.concatenate(found) if found else np.empty(0)

    @property
    def seconds(self) -> float:
        """Time for which all flows together were there, s."""
        here = zip(self.made, self.until, strict=True)
        return float(sum(until - made[0] for made, until in here if len(made)))


def freezes(shown: Floats, until: float, period: float) -> Floats:
    """The lengths of the freezes of a flow, s. Its last one may last up to ``until``."""
    times = np.append(np.sort(shown[np.isfinite(shown)]), until)
    gaps: Floats = np.diff(times)
    return gaps[gaps > max(3 * period, period + FREEZE)]


MEDIA_FIGURES: tuple[Figure[Frames], ...] = (
    Figure("frame_delay_mean", "Frame delay, mean", "ms", lambda f: _mean(f.delays), scale=1e3),
    Figure(
        "frame_delay_p95", "Frame delay, p95", "ms", lambda f: quantile(f.delays, 0.95), scale=1e3
    ),
    Figure(
        "frame_delay_p99", "Frame delay, p99", "ms", lambda f: quantile(f.delays, 0.99), scale=1e3
    ),
    Figure(
        "frames_lost",
        "Frames never shown, share of those made",
        "",
        lambda f: f.lost,
        lambda f: f.count,
    ),
    Figure(
        "freezes",
        "Freezes of a flow",
        "1/min",
        lambda f: 60 * len(f.freezes),
        lambda f: f.seconds,
    ),
    Figure(
        "frozen", "Frozen, share of time", "", lambda f: float(f.freezes.sum()), lambda f: f.seconds
    ),
    Figure(
        "media_rate",
        "Rate of the encoder, mean of a flow",
        "Mbit/s",
        lambda f: 8.0 * float(sum(map(np.sum, f.size))),
        lambda f: f.seconds,
        scale=1e-6,
    ),
)
"""In the order of reports."""


def _mean(x: Floats) -> float:
    return float(x.mean()) if x.size else float("nan")


def frames_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every frame of every media flow; None if there is none."""
    rows = [(r, m) for r, raw in enumerate(raws) for m in raw["media"]]
    if not rows:
        return None
    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(len(m["made"]), r) for r, m in rows))
    out.add("flow", pa.uint32(), "", (np.full(len(m["made"]), m["flow"]) for _, m in rows))
    out.add("made", pa.float64(), "s", (m["made"] for _, m in rows))
    out.add("shown", pa.float64(), "s", (m["shown"] for _, m in rows))
    out.add("bytes", pa.uint32(), "bytes", (m["bytes"] for _, m in rows))
    out.add("is_key", pa.bool_(), "", (m["is_key"] for _, m in rows))
    out.add("period", pa.float64(), "s", (np.full(len(m["made"]), m["period"]) for _, m in rows))
    return out.table()


def media_table(raws: Sequence[Raw]) -> pa.Table | None:
    """Every change of the senders of the traced media flows; None if no flow was traced."""
    rows = [(r, m) for r, raw in enumerate(raws) for m in raw["media"] if len(m["t"])]
    if not rows:
        return None
    out = Columns()
    out.add("replication", pa.uint32(), "", (np.full(len(m["t"]), r) for r, m in rows))
    out.add("flow", pa.uint32(), "", (np.full(len(m["t"]), m["flow"]) for _, m in rows))
    out.add("t", pa.float64(), "s", (m["t"] for _, m in rows))
    for name, unit in SENDER.items():
        out.add(name, pa.float64(), unit, (m[name] for _, m in rows))
    return out.table()


def frame_sets(
    table: pa.Table,
    flows: Sequence[Mapping[int, float]],
    span: tuple[float, float],
    ends: Floats,
) -> list[Frames]:
    """The frames of each replication that reached a span of time, s.

    ``flows[r]`` has the wanted flows of replication ``r`` and when each stops (NaN: never),
    ``ends[r]`` its end, s.
    """
    column = {name: table[name].to_numpy() for name in table.column_names}
    begin, end = span
    inside = (begin <= column["made"]) & (column["made"] < end)
    out = []
    for r in np.flatnonzero(ends > begin).tolist():
        here = np.flatnonzero(inside & (column["replication"] == r))
        of = {flow: here[column["flow"][here] == flow] for flow in flows[r]}
        of = {flow: rows for flow, rows in of.items() if len(rows)}
        out.append(
            Frames(
                until=[float(np.fmin(flows[r][flow], min(end, ends[r]))) for flow in of],
                made=[column["made"][rows] for rows in of.values()],
                shown=[column["shown"][rows] for rows in of.values()],
                size=[column["bytes"][rows].astype(float) for rows in of.values()],
                period=[float(column["period"][rows[0]]) for rows in of.values()],
            )
        )
    return out


def flow_columns(
    raws: Sequence[Raw], begin: float, until: Floats
) -> Iterator[tuple[str, str, Floats]]:
    """Columns of the table of flows, as name, unit and values (NaN for other flows): of the frames
    made from ``begin`` on. ``until`` is the end of each flow, s.
    """
    first = np.cumsum([0, *(len(raw["flows"]["start"]) for raw in raws)])
    of = [(first[r] + m["flow"], m) for r, raw in enumerate(raws) for m in raw["media"]]
    columns = {figure.name: np.full(len(until), np.nan) for figure in MEDIA_FIGURES}
    for row, m in of:
        here = m["made"] >= begin
        made, shown, size = (m[name][here].astype(float) for name in ("made", "shown", "bytes"))
        frames = Frames([float(until[row])], [made], [shown], [size], [m["period"]])
        for figure in MEDIA_FIGURES:
            columns[figure.name][row] = figure.value(frames)
    units = {figure.name: figure.base_unit for figure in MEDIA_FIGURES}
    for name, values in columns.items():
        yield name, units[name], values
