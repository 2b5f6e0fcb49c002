"""The measurements of a link as a result like the simulator's, as JSON and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from marqueue.live.audit import invalid_reasons, remarks
from marqueue.live.lateness import least_round_trip
from marqueue.live.link import LinkOutcome
from marqueue.live.machine import Timers
from marqueue.live.recording import Recording
from marqueue.results import LINK_FIGURES, Result
from marqueue.results.pipe import PIPE_FIGURES
from marqueue.results.provenance import describe, here
from marqueue.results.window import Window
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Estimate
from marqueue.units import Duration

COUNTS = dict.fromkeys(("drops", "marks", "packets", "lost"), "packets")
"""Figures that count packets."""
SHOWN = ("queue_mean", "queue_p99", "delay_mean", "delay_p50", "delay_p99")
"""Figures of the table besides rates and counts."""
NO_FLOWS = {
    **{name: np.empty(0, np.uint32) for name in ("group", "route", "size")},
    **{name: np.empty(0) for name in ("start", "end")},
    **{name: np.empty(0, np.uint64) for name in ("delivered", "sent", "retransmits")},
    **{name: np.empty(0, np.int64) for name in ("timeouts", "ecn_cuts")},
}
"""The empty table of flows: the flows of a command are unknown."""


def link_measurements(
    scenario: Scenario,
    plan: Mapping[str, Any],
    command: Sequence[str],
    ended: LinkOutcome,
    recording: Recording,
    timers: Timers | None,
) -> Result:
    """The result of a link whose command has ended: one replication, as long as the command ran.

    ``scenario`` has the topology. ``provenance.live`` has the command, the audit, and the reasons
    if the result is invalid.
    """
    raw = ended.raw
    lasted = max(round(raw["ended"] * 1e9), 1)
    audit = {
        **raw["audit"],
        "packet_time": ended.packet_time,
        "round_trip": least_round_trip(plan),
        "duration": raw["ended"],
    }
    live = {
        "command": list(command),
        "timers": asdict(timers) if timers else None,
        "audits": [audit],
        "invalid_reasons": invalid_reasons(audit, ended.packet_time),
        "remarks": remarks(audit, ended.packet_time),
    }
    whole = _until(scenario, lasted)
    began = datetime.now(UTC).timestamp() - raw["ended"]
    started_at = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
    made = describe(
        whole, [scenario.seed], here(started_at, raw["ended"], audit["cpu"], 0), live=live
    )
    links = [
        {**each, "series": recording.series(each["link"], each["series"])} for each in raw["links"]
    ]
    nothing: dict[str, Any] = {
        name: [] for name in ("traces", "senders", "paced", "cwnds", "media")
    }
    measured = {
        **raw,
        **nothing,
        "links": links,
        "edges": np.array([0, lasted / 1e9]),
        "events": 0,
        "flows": NO_FLOWS,
    }
    links = [
        {**link, "schedule": [change for change in link["schedule"] if change[0] < lasted]}
        for link in plan["links"]
    ]
    plan = {**plan, "duration": lasted, "links": links}
    return Result.from_raw(whole, plan, made, [measured])


def _until(scenario: Scenario, end: int) -> Scenario:
    """The scenario up to a time, ns, without later changes of rates."""
    data = scenario.to_dict()
    for link in data["topology"]["links"]:
        changes = link.get("schedule", [])
        link["schedule"] = [each for each in changes if Duration.parse(each["at"]).base < end]
    return from_dict({**data, "duration": str(Duration(end))})


def as_dict(result: Result) -> dict[str, Any]:
    """The measurements for JSON: counts, figures and series of each link, with units."""
    assert result.provenance.live
    [audit] = result.provenance.live["audits"]
    return {
        "valid": not result.provenance.live["invalid_reasons"],
        "invalid_reasons": result.provenance.live["invalid_reasons"],
        "remarks": result.provenance.live["remarks"],
        "command": result.provenance.live["command"],
        "seconds": audit["duration"],
        "links": [_link(result, name) for name in result.links],
        "audit": audit,
    }


def _link(result: Result, name: str) -> dict[str, Any]:
    link = result.link(name)
    [window] = link.windows()
    figures = {f.name: _value(f.value(window), _unit(f.name, f.base_unit)) for f in LINK_FIGURES}
    wire = result.pipe(name).figures() if name in result.pipes else {}
    return {
        "name": name,
        **{count: getattr(window, count) for count in ("arrivals", "departures")},
        **{f"{count}_bytes": getattr(window, f"{count}_bytes") for count in WAYS},
        "drops": window.drops,
        "marks": window.marks,
        "figures": {
            "rate": _value(rate_of(window), "bit/s"),
            "offered_rate": _value(window.arrived_bytes * 8 / window.seconds, "bit/s"),
            **figures,
            **{
                f.name: _value(wire[f.name].mean, _unit(f.name, f.base_unit))
                for f in PIPE_FIGURES
                if wire
            },
        },
        "series": _series(result, name),
    }


WAYS = ("arrived", "departed", "dropped")


def rate_of(window: Window) -> float:
    """The departure rate of the queue, bit/s."""
    return window.departed_bytes * 8 / window.seconds


def _unit(name: str, unit: str) -> str:
    return COUNTS.get(name, unit or "1")


def _value(value: float, unit: str) -> dict[str, Any]:
    """A quantity; null if nothing was measured."""
    return {"value": value if math.isfinite(value) else None, "unit": unit}


def _series(result: Result, name: str) -> dict[str, Any]:
    """The samples; null if no packet left since the previous sample."""
    link = result.link(name)
    series = {each: (*link.series(each), unit) for each, unit in link.units.items()}
    times = next(iter(series.values()))[0] if series else np.empty(0)
    return {
        "t": {"unit": "s", "values": times.tolist()},
        **{
            each: {
                "unit": unit,
                "values": [v if math.isfinite(v) else None for v in values[0].tolist()],
            }
            for each, (_, values, unit) in series.items()
        },
    }


def table(result: Result) -> Table:
    """The main figures, one column for each direction."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    out.add_column("")
    windows = {name: window for name in result.links for window in result.link(name).windows()}
    for name in windows:
        out.add_column(name, justify="right", no_wrap=True)
    each = windows.values()
    out.add_row(Text("Rate [Mbit/s]"), *(f"{rate_of(w) / 1e6:.3f}" for w in each))
    out.add_row("Packets in", *(str(w.arrivals) for w in each))
    out.add_row("Packets dropped", *(_by_reason(w.drops) for w in each))
    out.add_row("Packets marked", *(_by_reason(w.marks) for w in each))
    for figure in LINK_FIGURES:
        if figure.name in SHOWN:
            estimates = (figure.estimate([w], 0.95).scaled(figure.scale) for w in each)
            out.add_row(Text(figure.title), *(_short(e) for e in estimates))
    if result.pipes:
        pipes = [result.pipe(n).figures() if n in result.pipes else None for n in windows]
        lost = [p["lost"] if p else None for p in pipes]
        out.add_row("Lost on the wire", *(f"{e.mean:.0f}" if e else "0" for e in lost))
    return out


def _short(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f}" if estimate.n else "–"


def _by_reason(counts: Mapping[str, int]) -> str:
    """A number of packets, with the number for each reason if there are several."""
    there = {reason: n for reason, n in counts.items() if n}
    total = str(sum(there.values()))
    reasons = ", ".join(f"{reason.replace('_', ' ')} {n}" for reason, n in there.items())
    return f"{total} ({reasons})" if there else total
