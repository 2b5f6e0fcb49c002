"""The figure of docs/theory/steady.md: fixed points of one link over numbers of flows, and packets.

    python -m benches.steady [DIRECTORY]

Writes flows.svg and its data, flows.json, into docs/theory/steady.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from marqueue.plots import panels, svg
from marqueue.plots.style import COLORS, themed
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.run import run_each
from marqueue.theory.steady_state.model import steady

HERE = Path("docs/theory/steady")

AQMS: dict[str, dict[str, Any]] = {
    "red": {"name": "red", "min_th": "20 packets", "max_th": "80 packets", "max_p": 0.1,
            "w_q": 0.002},
    "pi": {"name": "pi", "q_ref": "50 packets"},
    "rem": {"name": "rem", "q_ref": "50 packets"},
    "avq": {"name": "avq"},
    "gkvq": {"name": "gkvq"},
    "scaled": {"name": "scaled", "curve": "exp:10:0.2"},
    "drq": {"name": "drq", "max_p": 0.5, "w_q": 0.002},
}  # fmt: skip
FLOWS = (10, 20, 40, 80)
PANELS = {
    "probability": ("Marked", "mark_ratio"),
    "queue": ("Queue [packets]", "queue_mean"),
    "utilization": ("Utilization", "utilization"),
}


def scenario(aqm: dict[str, Any], flows: int) -> Scenario:
    """Flows of 60 ms over 3750 packets/s, with ECN."""
    given = aqm | {"flows": flows} if aqm["name"] == "scaled" else aqm
    field = {"ecn_field": "initial"} if aqm["name"] == "drq" else {}
    return from_dict(
        {
            "name": aqm["name"],
            "duration": "80 s",
            "warmup": "40 s",
            "replications": 3,
            "topology": {
                "kind": "dumbbell",
                "rtts": ["60 ms"],
                "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
                "bottleneck": {
                    "rate": "30 Mbit/s", "delay": "5 ms", "buffer": "1000 packets", "aqm": given,
                },
            },
            "transport": {
                "default": {"preset": "ns2", "ecn": True, "recovery": "sack", "segment": "1000 B"}
                | field
            },
            "traffic": [{"name": "long", "kind": "tcp", "count": flows, "jitter": "1 s"}],
        }
    )  # fmt: skip


def marked(aqm: str, price: float) -> float:
    """The share of marked packets; for DRQ computed from the price (15)."""
    return price**2 / (1 + price**2) if aqm == "drq" else price


def main() -> None:
    """Writes the figure and its data."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    place.mkdir(parents=True, exist_ok=True)
    every = {name: [scenario(aqm, n) for n in FLOWS] for name, aqm in AQMS.items()}
    results = iter(run_each([each for row in every.values() for each in row]))
    found: dict[str, Any] = {}
    for name, row in every.items():
        found[name] = []
        for flows, each in zip(FLOWS, row, strict=True):
            [link] = steady(each).links.values()
            figures = next(results).link("bottleneck").figures()
            found[name].append(
                {
                    "flows": flows,
                    "theory": {
                        "probability": marked(name, link.probability),
                        "queue": link.queue,
                        "utilization": link.utilization,
                    },
                    "packets": {key: figures[of].as_dict() for key, (_, of) in PANELS.items()},
                }
            )
    (place / "flows.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (place / "flows.svg").write_text(svg(draw(found)), encoding="utf-8")


def draw(found: dict[str, Any]) -> Any:
    """Fixed points as lines, packet simulation as marks."""
    colors = (*COLORS, "#000000")
    with themed():
        figure, axes = panels(len(PANELS), 2.4)
        for axis, (key, (label, _)) in zip(axes, PANELS.items(), strict=True):
            for i, ((name, rows), color) in enumerate(zip(found.items(), colors, strict=True)):
                x = [row["flows"] for row in rows]
                axis.plot(x, [row["theory"][key] for row in rows], color=color, linewidth=1.1)
                means = [row["packets"][key]["mean"] for row in rows]
                error = [row["packets"][key]["half_width"] for row in rows]
                # Beside one another: several are alike.
                aside = [n * (1 + 0.02 * (i - 3)) for n in x]
                axis.errorbar(aside, means, error, fmt="o", markersize=3.5, capsize=2,
                              color=color, label=name)  # fmt: skip
            axis.set_xscale("log")
            axis.set_xticks(FLOWS, [str(n) for n in FLOWS])
            axis.minorticks_off()
            axis.set_ylabel(label)
        axes[0].set_yscale("log")
        axes[1].set_yscale("symlog", linthresh=10)
        axes[1].set_ylim(bottom=-1)
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=7, borderpad=0.2)
        axes[-1].set_xlabel("Flows")
    return figure


if __name__ == "__main__":
    main()
