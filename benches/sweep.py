"""A sweep of many short points with one job and with one a processor, by turns.

    python -m benches.sweep [--rounds N] [--points N] [--jobs N ...]

Each sweep is a command in a process of its own, on as many processors as it has jobs. The points
are those of scenarios/dumbbell.toml with AVQ, one replication each. All sweeps must write the same
bytes.

Before that, the start-up of a run is timed: dumbbell (i) of benches/peers with 100 to 10,000 flows,
from the plan to the first event, and its empty result.

Measurements and tables go to docs/performance.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median

from benches import here
from benches.peers import SPEED
from benches.record import record, table
from marqueue.results.integrity import PROVENANCE, file_digest
from marqueue.scenario import compile

STARTS = 30
"""Runs of each number of flows that only start."""
HEAD = ("jobs", "wall, s", "least", "most", "CPU, s", "points a second", "times one job's speed")


@dataclass
class Times:
    """The times of a sweep with so many jobs, s, by round."""

    jobs: int
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    """User and system, of all processes."""


def sweep(points: int, jobs: int, out: Path) -> tuple[float, float, str]:
    """Runs a sweep. Returns wall and CPU time in s, and the digest of what it wrote."""
    gammas = ",".join(f"{0.4 + 0.6 * i / points:.4f}" for i in range(points))
    processors = sorted(os.sched_getaffinity(0))[:jobs]
    scenario = here.ROOT / "scenarios" / "dumbbell.toml"
    command = [
        *("taskset", "--cpu-list", ",".join(map(str, processors))),
        *(sys.executable, "-m", "marqueue", "sweep", str(scenario)),
        *("--set", "topology.bottleneck.aqm=avq", "--replications", "1", "--no-report"),
        *("--over", f"topology.bottleneck.aqm.gamma={gammas}"),
        *("--jobs", str(jobs), "--out", str(out)),
    ]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, file_digest(out / PROVENANCE)


def start_up(flows: int) -> list[float]:
    """The wall times of runs that end with their first event, s."""
    case = next(iter(SPEED.values()))
    plan = compile(replace(case, flows=flows).scenario())
    ended = {**plan, "duration": 1, "boundaries": []}
    return [here.run_plan(ended, 1, here.ONCE).wall for _ in range(STARTS)]


def measure(points: int, jobs: Sequence[int], rounds: int) -> list[Times]:
    """The times with each number of jobs."""
    times = [Times(each) for each in jobs]
    digests = set()
    # All stay until the last has ended: to make a file where ext4 has removed thousands in the last
    # five minutes takes ten times as long.
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(rounds):
            for each in times:
                out = Path(folder, f"{round_}-{each.jobs}")
                wall, cpu, digest = sweep(points, each.jobs, out)
                each.walls.append(wall)
                each.cpus.append(cpu)
                digests.add(digest)
                print(f"{each.jobs} jobs: {wall:.2f} s", file=sys.stderr, flush=True)
    if len(digests) > 1:
        raise RuntimeError("the result depends on the number of jobs")
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    most = len(os.sched_getaffinity(0))
    parser.add_argument("--rounds", type=int, default=3, help="sweeps of each")
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, most], help="one first")
    arguments = parser.parse_args()
    here.build()
    starts = {flows: start_up(flows) for flows in (100, 1000, 10_000)}
    record(
        "start-up",
        starts,
        table(
            ("flows", "ms", "least", "most"),
            [
                [f"{flows:,}", *(f"{1e3 * of(times):.2f}" for of in (median, min, max))]
                for flows, times in starts.items()
            ],
        ),
    )
    times = measure(arguments.points, arguments.jobs, arguments.rounds)
    rows = [
        [
            str(each.jobs),
            *(f"{of(each.walls):.1f}" for of in (median, min, max)),
            f"{median(each.cpus):.1f}",
            f"{arguments.points / median(each.walls):.0f}",
            f"{median(a / b for a, b in zip(times[0].walls, each.walls, strict=True)):.2f}",
        ]
        for each in times
    ]
    record("sweep", [asdict(each) for each in times], table(HEAD, rows))


if __name__ == "__main__":
    main()
