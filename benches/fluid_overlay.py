"""Figures and numbers of docs/theory/fluid.md: fluid models on top of packets, for each AQM.

    python -m benches.fluid_overlay [DIRECTORY]

Writes NAME.svg, and the data of all figures and tables, errors.json, into docs/theory/fluid.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import marqueue
from marqueue.plots import svg
from marqueue.plots.fluid import overlay_figure
from marqueue.results.fluid_overlay import Overlay
from marqueue.scenario import from_dict
from marqueue.theory import solve_fluid

HERE = Path("docs/theory/fluid")

AQMS: dict[str, dict[str, Any]] = {
    "droptail": {"name": "droptail"},
    "red": {"name": "red", "min_th": "100 packets", "max_th": "300 packets"},
    "pi": {"name": "pi", "q_ref": "200 packets"},
    "rem": {"name": "rem", "q_ref": "200 packets"},
    "avq": {"name": "avq"},
}

FLOWS = (5, 10, 20, 40, 80, 160)
"""Numbers of flows in the table that shows the limits of the model."""


def scenario(aqm: dict[str, Any], flows: int = 40, late: int = 20) -> dict[str, Any]:
    """50 Mbit/s; half as many flows again from 60 s on."""
    traffic: list[dict[str, Any]] = [
        {"name": "long", "kind": "tcp", "count": flows, "jitter": "1 s"}
    ]
    if late:
        traffic.append(traffic[0] | {"name": "late", "count": late, "start": "60 s"})
    return {
        "name": aqm["name"],
        "duration": "100 s",
        "warmup": "20 s",
        "replications": 3,
        "sample": "100 ms",
        "topology": {
            "kind": "dumbbell",
            "rtts": ["60 ms", "100 ms", "140 ms"],
            "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
            "bottleneck": {
                "rate": "50 Mbit/s",
                "delay": "5 ms",
                "buffer": "500 packets",
                "signal": "drop" if aqm["name"] == "droptail" else "ecn",
                "aqm": aqm,
            },
        },
        "transport": {"default": {"preset": "ns2", "ecn": aqm["name"] != "droptail"}},
        "traffic": traffic,
    }


def beside(of: dict[str, Any]) -> tuple[Overlay, dict[str, Any]]:
    """A run with its model, and the errors of both equations for TCP."""
    made = from_dict(of)
    result = marqueue.run(made)
    overlays = {s: Overlay(result, solve_fluid(made, s)) for s in ("reno", "reno-sawtooth")}
    return overlays["reno"], {
        source: {name: e.to_dict() for name, e in each.errors["bottleneck"].items()}
        for source, each in overlays.items()
    }


def main() -> None:
    """Writes everything."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    place.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"aqms": {}, "flows": {}}
    for name, aqm in AQMS.items():
        overlay, found["aqms"][name] = beside(scenario(aqm))
        (place / f"{name}.svg").write_text(svg(overlay_figure(overlay)), encoding="utf-8")
        print(name, flush=True)
    for flows in FLOWS:
        _, found["flows"][str(flows)] = beside(scenario(AQMS["red"], flows, 0))
        print(flows, flush=True)
    (place / "errors.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
