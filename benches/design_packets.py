"""The figure and the tables of "Packets on both sides" in docs/theory/design.md.

    python -m benches.design_packets [DIRECTORY]

The results of `marqueue design ... --packets` for all controllers, and the oscillation of arrivals
from far inside to far beyond the boundary: with the designed number of flows, and with ten times as
many flows, capacity and buffer. Independent fluctuations of flows then fall by a factor of
sqrt(10); common oscillations do not. Writes packets.svg and its data, packets.json, into
docs/theory/design.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from marqueue.design import Design, avq, by_packets, drq, mkc, pi, red, rem
from marqueue.design.packets import Experiment, scenario, swing
from marqueue.plots import panels, svg
from marqueue.plots.style import COLORS, themed
from marqueue.scenario import load
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate
from marqueue.theory.drq.from_scenario import network

HERE = Path("docs/theory/design")
LINK = 3750.0, 60.0, 0.246

MULTIPLES = (0.12, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)
"""Multiples of the boundary."""
FROM_AFAR = (0.02, 0.5, 1.0, 2.0, 4.0, 10.0)
NEAR = (0.5, 1.0, 1.4, 2.0, 4.0, 10.0)
MANY = 300
SHOWN = "queue_mean", "queue_std", "utilization", "mark_ratio"


def designs() -> dict[str, Design]:
    """A row of the table."""
    cpu = load("scenarios/cpu.toml", ["traffic.forward.count=40"])
    return {
        "red": red.design(*LINK, 150, 700, max_p=0.1),
        "pi": pi.design(*LINK),
        "pi, q_ref = 200 packets": pi.design(*LINK, q_ref=200),
        "rem": rem.design(*LINK),
        "avq, N = 180, d = 0.35 s": avq.design(1250, 180, 0.35, gamma=0.98),
        "avq, N = 150, d = 0.25 s": avq.design(1250, 150, 0.25, gamma=0.98),
        "drq": drq.design(network(cpu), cpu),
        "mkc, D = 4": mkc.design(1e7, 20, (4,), loss=0.1),
        "mkc, D = 3 and 8": mkc.design(1e7, 20, (3, 8), loss=0.1),
        "mkc, prices without loss, D = 4": mkc.design(1e7, 20, (4,), alpha=1e4, price="virtual"),
    }


@dataclass(frozen=True)
class Paced(avq.Avq):
    """Sources of AVQ's model, unlike TCP: the rate grows by ``increase`` packets per round trip in
    every round trip, and a mark reduces it by the share ``cut``."""

    increase: float = 0.5
    cut: float = 0.1

    @property
    def marked(self) -> float:
        return self.increase / (self.cut * self.window**2)

    @property
    def k11(self) -> float:
        return self.increase / (self.window * self.rtt)

    @property
    def k2(self) -> float:
        return self.cut * self.window / self.rtt

    def experiment(self) -> Experiment:
        of = super().experiment()
        bottleneck = of.parts["topology"]["bottleneck"]
        settled = self.gamma * (1 - self.marked)
        # A queue of half a round trip slows a rate that grows by the clock no more, and would stay.
        bottleneck["buffer"] = f"{self.rtt * self.capacity / 20:.0f} packets"
        bottleneck["aqm"] |= {"initial": settled, "buffer": f"{self.flows / 10:.0f} packets"}
        step = self.rtt / 10
        flows = {
            "name": "paced", "kind": "paced", "count": round(self.flows), "ecn": True,
            "rate": f"{8000 * self.window / self.rtt:.0f} bit/s",
            "control": {
                "name": "aimd", "beta": 1 - self.cut, "interval": f"{1e3 * step:.6f} ms",
                "alpha": f"{self.increase * step / self.rtt**2:.9f} /s",
            },
        }  # fmt: skip
        return replace(of, parts={"topology": of.parts["topology"], "traffic": [flows]})


def of_pi(scale: int) -> Design:
    c, n, rtt = LINK
    return pi.design(c * scale, n * scale, rtt, q_ref=200 * scale)


def of_avq(scale: int, virtual_buffer: int) -> Design:
    found = avq.design(1250 * scale, 180 * scale, 0.35, gamma=0.98)
    return replace(found, setting=WithBuffer(**vars(found.setting), packets=virtual_buffer))


@dataclass(frozen=True)
class WithBuffer(avq.Avq):
    """AVQ with another virtual buffer."""

    packets: int = 100

    @property
    def aqm(self) -> dict[str, Any]:
        return super().aqm | {"buffer": f"{self.packets} packets"}


def of_paced(scale: int) -> Design:
    found = avq.design(1250, 180, 0.35, gamma=0.98)
    setting = Paced(10204 * scale, 100 * scale, 0.1, 0.98, 3.0)
    return replace(found, setting=setting)


SWEEPS: dict[str, tuple[Callable[[], Design], tuple[float, ...], float, float]] = {
    "pi, 60 flows": (lambda: of_pi(1), MULTIPLES, 60, 120),
    "pi, 600 flows": (lambda: of_pi(10), MULTIPLES, 60, 120),
    "avq, 180 flows, virtual buffer 100": (lambda: of_avq(1, 100), FROM_AFAR, 100, 150),
    "avq, 1800 flows, virtual buffer 1000": (lambda: of_avq(10, 1000), FROM_AFAR, 100, 150),
    "avq, 1800 flows, virtual buffer 10": (lambda: of_avq(10, 10), FROM_AFAR, 100, 150),
    "avq, 100 paced sources": (lambda: of_paced(1), NEAR, 30, 40),
    "avq, 400 paced sources": (lambda: of_paced(4), NEAR, 30, 30),
}  # fmt: skip


def sweep(
    design: Design, multiples: tuple[float, ...], warmup: float, measured: float
) -> dict[str, Any]:
    """Oscillation of arrivals at multiples of the boundary."""
    assert design.boundary is not None
    frequency = abs(complex(design.at(design.boundary).root).imag)
    scenarios = [
        scenario(design.at(design.boundary * m).experiment(), warmup, measured, frequency)
        for m in multiples
    ]
    if design.setting.flows > MANY:
        # Of many flows one replication tells as much as ten of few.
        scenarios = [each.model_copy(update={"replications": 1}) for each in scenarios]
    rows = []
    for m, result in zip(multiples, run_each(scenarios), strict=True):
        figures = result.link("bottleneck").figures()
        swings = Estimate.of(swing(result, "bottleneck", frequency))
        rows.append(
            {"multiple": m, "swing": swings.as_dict()}
            | {name: figures[name].as_dict() for name in SHOWN}
        )
    return {"boundary": design.boundary, "frequency_rad_per_s": frequency, "rows": rows}


def draw(sweeps: dict[str, Any], file: Path) -> None:
    """Oscillation by the multiple of the boundary."""
    with themed():
        figure, axes = panels(3, 2.6)
        kinds = {"PI, TCP": "pi", "AVQ, TCP": "avq", "AVQ, paced sources": "paced"}
        for panel, (title, kind) in zip(axes, kinds.items(), strict=True):
            names = [n for n in sweeps if (n.startswith(kind) or kind in n)]
            if kind == "avq":
                names = [n for n in names if "paced" not in n]
            for name, color in zip(names, COLORS, strict=False):
                rows = sweeps[name]["rows"]
                x = [row["multiple"] for row in rows]
                y = [row["swing"]["mean"] for row in rows]
                error = [row["swing"]["half_width"] or 0.0 for row in rows]
                label = name.removeprefix("avq, ").removeprefix("pi, ")
                panel.errorbar(x, y, error, marker="o", markersize=3.5, capsize=2, color=color,
                               label=label)  # fmt: skip
            panel.axvline(1, color="#777777", linestyle="--", linewidth=0.9)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_title(title, loc="left", fontsize="medium")
            panel.set_ylabel("Swing of arrivals / C")
            panel.legend(fontsize="small")
        axes[-1].set_xlabel("Gain as a multiple of the exact boundary of the linear model")
    file.write_text(svg(figure), encoding="utf-8")


def row(design: Design) -> dict[str, Any]:
    """A row of the table."""
    packets = by_packets(design)
    return {
        "inside": packets.inside,
        "beyond": packets.beyond,
        "boundary": design.boundary,
        "swings": packets.verdict,
        "frequency_rad_per_s": packets.frequency,
        "figures": {each.figure.name: each.as_dict() for each in packets.figures},
    }


def main() -> None:
    """Writes figure and data, and intermediate results after each part."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    place.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"designs": {}, "sweeps": {}}
    parts: list[tuple[str, str, Callable[[], Any]]] = [
        *(("sweeps", name, partial(_sweep, *of)) for name, of in SWEEPS.items()),
        *(("designs", name, partial(row, of)) for name, of in designs().items()),
    ]
    for kind, name, make in parts:
        found[kind][name] = make()
        text = json.dumps(found, indent=1) + "\n"
        (place / "packets.json").write_text(text, encoding="utf-8")
        print(name, flush=True)
    draw(found["sweeps"], place / "packets.svg")


def _sweep(make: Callable[[], Design], *how: Any) -> dict[str, Any]:
    return sweep(make(), *how)


if __name__ == "__main__":
    main()
