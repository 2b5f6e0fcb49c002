"""The table of docs/theory/steady.md about BBRv1: its operating points, and packets.

    python -m benches.steady_bbr

Writes the table into the page.
"""

from __future__ import annotations

from pathlib import Path

from benches.record import insert, table
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate
from marqueue.theory.steady_state.bbr import OperatingPoint

PAGE = Path("docs/theory/steady.md")
PACKETS = 50e6 / 12e3
"""Of a link of 50 Mbit/s, 1/s."""
CASES = ((1, 20, 1000), (1, 80, 1000), (2, 20, 1000), (2, 80, 1000), (8, 80, 1000), (8, 20, 1000),
         (8, 20, 60))  # fmt: skip
"""Flows, round-trip time (ms) and buffer (packets)."""


def scenario(flows: int, rtt: int, buffer: int) -> Scenario:
    """Flows of BBRv1 through droptail: 40 s after 20 s, in which each looks for the least
    round-trip time twice.
    """
    return from_dict(
        {
            "name": f"{flows} flows",
            "duration": "60 s",
            "warmup": "20 s",
            "replications": 5,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt} ms"],
                "bottleneck": {
                    "rate": "50 Mbit/s", "delay": "1 ms", "buffer": f"{buffer} packets",
                },
                "access": {"rate": "1 Gbit/s"},
            },
            "transport": {"default": {"preset": "linux", "control": "bbr1"}},
            "traffic": [{"kind": "tcp", "count": flows}],
        }
    )  # fmt: skip


def text(estimate: Estimate, scale: float = 1.0) -> str:
    """Mean and half width."""
    return str(estimate.scaled(scale))


def main() -> None:
    """Writes the table."""
    rows = []
    for case, result in zip(CASES, run_each([scenario(*case) for case in CASES]), strict=True):
        flows, rtt, buffer = case
        point = OperatingPoint(PACKETS, rtt / 1e3, buffer, flows)
        link = result.link("bottleneck").figures()
        model = f"{point.standing_queue:.0f}"
        if flows == 1:
            model += f", {point.largest_queue:.0f}"
        number = "1 flow" if flows == 1 else f"{flows} flows"
        rows.append(
            [f"{number}, {rtt} ms, buffer {buffer}", model, text(link["queue_mean"]),
             text(link["delay_p99"], PACKETS), text(link["utilization"])]
        )  # fmt: skip
    insert(
        PAGE,
        "BBRv1",
        table(["50 Mbit/s, droptail", "model: queue, at the end of a probe (packets)", "mean",
               "p99", "utilization"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    main()
