"""One run on one thread and on several, by turns, each in a process of its own.

    python -m benches.threads [--rounds N] [--threads N ...]

The dumbbells of benches/peers and benches/scale, and a parking lot with three bottlenecks. The
compared figure is the wall time of the run; the result must be the same. Measurements and table go
to docs/performance.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from benches import here
from benches.peers import SPEED
from benches.record import record, table
from benches.scale import case
from marqueue.scenario import compile, from_toml

PARKING_LOT = """
name = "Parking lot"
duration = "20 s"
replications = 1

[topology]
kind = "parking-lot"
access = { rate = "10 Gbit/s", delay = "5 ms" }

[[topology.hops]]
rate = "300 Mbit/s"
delay = "10 ms"
buffer = "1000 packets"
aqm = { name = "red", min_th = "100 packets", max_th = "500 packets" }

[[topology.hops]]
rate = "300 Mbit/s"
delay = "10 ms"
buffer = "1000 packets"
aqm = { name = "red", min_th = "100 packets", max_th = "500 packets" }

[[topology.hops]]
rate = "300 Mbit/s"
delay = "10 ms"
buffer = "1000 packets"
aqm = { name = "red", min_th = "100 packets", max_th = "500 packets" }

[transport.default]
preset = "rfc"

[[traffic]]
name = "through"
kind = "tcp"
classes = ["through"]
count = 300

[[traffic]]
name = "cross"
kind = "tcp"
classes = ["hop 1", "hop 2", "hop 3"]
count = 900
"""

HEAD = ("plan", "threads", "wall, s", "least", "most", "times one thread's speed")


@dataclass(frozen=True)
class Row:
    """The wall times of a plan on so many threads, s."""

    name: str
    threads: int
    walls: list[float]
    speedup: float
    """Median over rounds of the wall time on one thread over this one."""

    def cells(self) -> list[str]:
        """The row of the table."""
        times = [f"{of(self.walls):.3f}" for of in (median, min, max)]
        return [self.name, str(self.threads), *times, f"{self.speedup:.2f}"]


def measure(
    name: str, plan: Mapping[str, object], threads: Sequence[int], rounds: int
) -> list[Row]:
    """The rows of one plan."""
    walls: dict[int, list[float]] = {each: [] for each in threads}
    digests = set()
    for _ in range(rounds):
        for each in threads:
            run = here.run_plan(plan, 1, here.ONCE, each)
            walls[each].append(run.wall)
            digests.add(run.digest)
    if len(digests) > 1:
        raise RuntimeError(f"{name}: the result depends on the number of threads")
    alone = walls[threads[0]]
    return [
        Row(name, each, of, median(a / b for a, b in zip(alone, of, strict=True)))
        for each, of in walls.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    most = len(os.sched_getaffinity(0))
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, most], help="one first")
    arguments = parser.parse_args()
    here.build()
    plans = {name: compile(of.scenario()) for name, of in SPEED.items()}
    plans["100,000 flows"] = compile(case(100_000).scenario())
    plans["parking lot, 3 bottlenecks"] = compile(from_toml(PARKING_LOT))
    rows = []
    for name, plan in plans.items():
        rows += measure(name, plan, arguments.threads, arguments.rounds)
        print(*rows[-1].cells(), sep="; ", flush=True)
    record("threads", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows]))


if __name__ == "__main__":
    main()
