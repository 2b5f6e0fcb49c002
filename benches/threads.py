"""One run on one thread and on several, by turns, each in a process of its own.

    python -m benches.threads [--rounds N] [--threads N ...]

The dumbbells of benches/peers and benches/scale, and a parking lot with three bottlenecks. The
compared figure is the wall time of the run; the result must be the same.

Three figures tell what the machine has to do with it. Before and after each run on several threads
two threads exchange a cache line: a virtual machine's processors may share a cache or not, and the
host may exchange them at any time. Rows are for near and for far ones; a run during which they were
both is in none. As many runs of one thread are started beside each other, which share nothing:
processors that are threads of one core, or that a host shares out, slow each other down. And the
parts of a run take turns on one thread
(``marqueue_sim::rehearse``), for up to 16 parts. From what each part took at each meeting, and the
time that two threads need to meet, which is measured first, follows what the run would take on
processors that do not slow each other down.

Last, some plans run beside programs that only take processors, with up to twice as many threads as
there are processors. Measurements and tables go to docs/performance.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median

from benches import here
from benches.hybrid import thousand_links
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

SHORT_FLOWS = """
name = "Flows that end"
duration = "20 s"
replications = 1

[topology]
kind = "dumbbell"
rtts = ["40 ms", "60 ms", "80 ms", "100 ms", "140 ms"]
access = { rate = "10 Gbit/s" }
bottleneck = { rate = "1 Gbit/s", delay = "5 ms", buffer = "10000 packets", aqm = "pie" }

[transport.default]
preset = "rfc"

[[traffic]]
kind = "poisson"
rate = "2500 /s"
size = "30 packets"
"""

MORE_FLOWS = (
    "traffic.0.rate=25000 /s",
    "topology.access.rate=100 Gbit/s",
    "topology.bottleneck.rate=10 Gbit/s",
    "topology.bottleneck.buffer=100000 packets",
)
"""Ten times as many of these, over ten times the rate: they get the slots of those that have
ended."""

LITTLE_TO_DO = """
name = "Little to do"
duration = "300 s"
replications = 1

[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "1 ms", buffer = "10 packets", aqm = "droptail" }
rtts = ["4 ms"]

[[traffic]]
kind = "cbr"
rate = "8 Mbit/s"
packet = "1000 B"
"""
"""Threads that do little more than meet: a packet at each meeting."""

HEAD = (
    "plan",
    "threads",
    "processors",
    "runs",
    "wall, s",
    "least",
    "most",
    "times one thread's speed",
    "as many runs",
)
NEAR = 200.0
"""A cache line goes there and back between near processors in less, ns. It took some 50 where they
seemed to share a cache; by another program, which writes with more order, 60 to 120, and 370 to 430
where they did not."""
PATIENCE = 3
"""Rounds at most, over those that are wanted with near processors."""
PARTS = (2, 4, 8, 16)
"""Threads of the forecast."""
FORECAST = ("plan", *(f"{parts} threads" for parts in PARTS))


MANY_MEETINGS = """
name = "Many meetings"
duration = "10 s"
replications = 1

[topology]
kind = "dumbbell"
bottleneck = { rate = "1 Gbit/s", delay = "0.2 ms", buffer = "100 packets", aqm = "droptail" }
rtts = ["1 ms", "2 ms", "3 ms", "4 ms"]

[[traffic]]
kind = "cbr"
count = 400
rate = "1 Mbit/s"
packet = "1000 B"
"""
"""Some packets at each of very many meetings: what waiting for a processor costs most."""

BUSY = ("plan", "threads", "idle machine, s", "beside one busy program, s", "beside two, s")


@dataclass(frozen=True)
class Row:
    """The wall times of a plan on so many threads, s."""

    name: str
    threads: int
    processors: str
    """Near, or far from each other; empty for one thread."""
    walls: list[float]
    speedup: float
    """Median over rounds of the wall time on one thread over this one."""
    beside: float
    """Median over rounds of the throughput of as many runs of one thread beside each other, over
    that of one alone."""

    def cells(self) -> list[str]:
        """The row of the table."""
        times = [f"{of(self.walls):.3f}" for of in (median, min, max)]
        speeds = [f"{self.speedup:.2f}", f"{self.beside:.2f}"]
        runs = str(len(self.walls))
        return [self.name, str(self.threads), self.processors, runs, *times, *speeds]


@dataclass(frozen=True)
class Forecast:
    """What a plan would gain on so many processors that do not slow each other down."""

    name: str
    threads: int
    """At most."""
    parts: int
    meetings: int
    share: float
    """The largest part's share of the work."""
    work: float
    """Median over rounds of the work of all parts over that of one thread."""
    speedup: float
    """Median over rounds."""

    def cell(self) -> str:
        """A cell of the table."""
        return f"{self.speedup:.2f} ({self.parts} parts, {self.share:.0%} in one)"


@dataclass(frozen=True)
class Busy:
    """The wall times of a plan on so many threads beside other programs, s."""

    name: str
    threads: int
    walls: list[float]
    """Medians, by the number of busy programs, from none on."""

    def cells(self) -> list[str]:
        """The row of the table."""
        return [self.name, str(self.threads), *(f"{wall:.3f}" for wall in self.walls)]


def beside(plan: Mapping[str, object], runs: int) -> float:
    """The mean wall time of so many runs of one thread that start together, s."""
    given = json.dumps(plan)
    started = [
        subprocess.Popen(
            [str(here.ONCE), "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(runs)
    ]
    for each in started:
        assert each.stdin
        each.stdin.write(given)
        each.stdin.close()
    walls = [float(json.load(each.stdout)["wall"]) for each in started if each.stdout]
    for each in started:
        each.wait()
    return sum(walls) / runs


def measure(
    name: str, plan: Mapping[str, object], threads: Sequence[int], rounds: int
) -> list[Row]:
    """The rows of one plan, of at least so many runs each with near processors if there are any."""
    runs = []
    digests = set()
    for _ in range(PATIENCE * rounds):
        alone, alone_beside = 0.0, 0.0
        for each in threads:
            run, processors = on_processors(plan, each)
            others = beside(plan, each)
            if each == threads[0]:
                alone, alone_beside = run.wall, others
            runs.append(
                Timed(each, processors, run.wall, alone / run.wall, each * alone_beside / others)
            )
            digests.add(run.digest)
        near = sum(each.processors == "near" for each in runs)
        if near >= rounds * (len(threads) - 1):
            break
    if len(digests) > 1:
        raise RuntimeError(f"{name}: the result depends on the number of threads")
    groups = [(each, at) for each in threads for at in ("", "near", "far")]
    found = [[run for run in runs if (run.threads, run.processors) == group] for group in groups]
    return [
        Row(
            name,
            threads_of_group,
            processors,
            [each.wall for each in group],
            median(each.speedup for each in group),
            median(each.beside for each in group),
        )
        for (threads_of_group, processors), group in zip(groups, found, strict=True)
        if group
    ]


@dataclass(frozen=True)
class Timed:
    """A run, beside one on one thread of the same round."""

    threads: int
    processors: str
    """Near or far; "both" if they were exchanged meanwhile, and empty for one thread."""
    wall: float
    speedup: float
    beside: float


def on_processors(plan: Mapping[str, object], threads: int) -> tuple[here.Run, str]:
    """A run, and whether its processors were near or far."""
    if threads == 1:
        return here.run_plan(plan, 1, here.ONCE), ""
    before = here.processor_distance() < NEAR
    run = here.run_plan(plan, 1, here.ONCE, threads)
    after = here.processor_distance() < NEAR
    return run, "both" if before != after else "near" if after else "far"


def meeting(rounds: int) -> float:
    """The time that two threads need to meet, ns: the median of runs with nothing else to do; of
    those with near processors if there are any."""
    plan = compile(from_toml(LITTLE_TO_DO))
    alone = [here.rehearse(plan, 1, 2) for _ in range(rounds)]
    together = [on_processors(plan, 2) for _ in range(PATIENCE * rounds)]
    near = [run.wall for run, processors in together if processors == "near"]
    walls = near or [run.wall for run, _ in together]
    spent = median(max(run.work) for run in alone)
    return max(0.0, median(walls) - spent) / alone[0].meetings * 1e9


def forecast(
    name: str, plan: Mapping[str, object], parts: int, rounds: int, meeting: float
) -> Forecast:
    """What so many threads would gain."""
    pairs = [
        (here.run_plan(plan, 1, here.ONCE), here.rehearse(plan, 1, parts, meeting))
        for _ in range(rounds)
    ]
    if any(alone.digest != run.digest for alone, run in pairs):
        raise RuntimeError(f"{name}: the result depends on the number of parts")
    _, last = pairs[-1]
    return Forecast(
        name,
        parts,
        len(last.work),
        last.meetings,
        median(max(run.work) / sum(run.work) for _, run in pairs),
        median(sum(run.work) / alone.wall for alone, run in pairs),
        median(alone.wall / run.wall for alone, run in pairs),
    )


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """So many programs that only take processors."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)
    ]
    try:
        yield
    finally:
        for each in running:
            each.kill()
        for each in running:
            each.wait()


def beside_others(plan: Mapping[str, object], threads: int, rounds: int) -> list[float]:
    """Median wall times beside 0, 1 and 2 busy programs, s."""
    times = []
    for programs in range(3):
        with busy(programs):
            times.append(
                median(here.run_plan(plan, 1, here.ONCE, threads).wall for _ in range(rounds))
            )
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    most = len(os.sched_getaffinity(0))
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, most], help="one first")
    arguments = parser.parse_args()
    here.build()
    plans = {name: compile(of.scenario()) for name, of in SPEED.items()}
    plans["100,000 flows"] = compile(case(100_000).scenario())
    plans["50,000 flows of 30 packets"] = compile(from_toml(SHORT_FLOWS))
    plans["500,000 flows of 30 packets"] = compile(from_toml(SHORT_FLOWS, MORE_FLOWS))
    plans["parking lot, 3 bottlenecks"] = compile(from_toml(PARKING_LOT))
    plans["1000 links, 3000 flows"] = compile(thousand_links(ecn=False))
    rows, forecasts = [], []
    needed = meeting(arguments.rounds)
    print(f"two threads meet in {needed:.0f} ns", flush=True)
    for name, plan in plans.items():
        found = measure(name, plan, arguments.threads, arguments.rounds)
        for row in found:
            print(*row.cells(), sep="; ", flush=True)
        rows += found
        for parts in PARTS:
            forecasts.append(forecast(name, plan, parts, arguments.rounds, needed))
            print(name, forecasts[-1].cell(), sep="; ", flush=True)
    few = {name: plans[name] for name in (*list(SPEED)[:1], "parking lot, 3 bottlenecks")}
    few["many meetings"] = compile(from_toml(MANY_MEETINGS))
    shared = []
    for name, plan in few.items():
        for each in (1, most, 2 * most):
            walls = beside_others(plan, each, arguments.rounds)
            shared.append(Busy(name, each, walls))
            print(*shared[-1].cells(), sep="; ", flush=True)
    record(
        "threads-busy",
        [asdict(each) for each in shared],
        table(BUSY, [each.cells() for each in shared]),
    )
    record("threads", [asdict(row) for row in rows], table(HEAD, [row.cells() for row in rows]))
    record(
        "threads-forecast",
        {"meeting_ns": needed, "rows": [asdict(each) for each in forecasts]},
        table(
            FORECAST,
            [[name, *(each.cell() for each in forecasts if each.name == name)] for name in plans],
        ),
    )


if __name__ == "__main__":
    main()
