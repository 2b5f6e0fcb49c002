"""What a packet costs under each queue management, as a table in docs/performance.

    python -m benches.queues

``crates/aqm/benches/queue.rs`` by criterion: enqueue and dequeue, timers included, of 100 flows
with fifty packets standing.
"""

import json
import shutil
import subprocess
from dataclasses import asdict, dataclass

from benches.here import ROOT, TARGET
from benches.record import record, table

GROUP = TARGET / "criterion" / "enqueue + dequeue"
BATCH = 10_000
"""Packets of one measurement, as in the benchmark."""
HEAD = ("queue", "ns a packet", "95% interval", "times drop-tail's")


@dataclass(frozen=True)
class Row:
    """A queue: the median time of a packet and its interval, ns."""

    name: str
    median: float
    least: float
    most: float


def measured() -> list[Row]:
    """What criterion has found, the fastest first."""
    rows = []
    for place in GROUP.glob("*/new/estimates.json"):
        median = json.loads(place.read_text())["median"]
        interval = median["confidence_interval"]
        of = [median["point_estimate"], interval["lower_bound"], interval["upper_bound"]]
        rows.append(Row(place.parts[-3], *(each / BATCH for each in of)))
    return sorted(rows, key=lambda row: row.median)


def main() -> None:
    shutil.rmtree(GROUP, ignore_errors=True)
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "marqueue-aqm", "--bench", "queue"]
    command += ["--", "--warm-up-time", "1", "--measurement-time", "2"]
    subprocess.run(command, check=True, cwd=ROOT)
    rows = measured()
    plain = next(row.median for row in rows if row.name == "droptail")
    cells = [
        [
            row.name,
            f"{row.median:.1f}",
            f"{row.least:.1f} to {row.most:.1f}",
            f"{row.median / plain:.2f}",
        ]
        for row in rows
    ]
    record("queues", [asdict(row) for row in rows], table(HEAD, cells))


if __name__ == "__main__":
    main()
