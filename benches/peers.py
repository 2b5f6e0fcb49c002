"""Speed and memory side by side with ns-2.

    python -m benches.peers [--rounds N] [--json FILE]

Both simulators run the same three dumbbells, in turns, each run a process of its own: here the
engine without Python (crates/sim/examples/once.rs). Compared are packets through the bottleneck per
second of CPU time, once with all of the process and once without set-up: for ns-2 without the time
before `$ns run`, here without what passes before the plan is handed to the engine; building the
network from the plan is then still part of our time. Memory per flow is the difference in peak
memory (VmHWM) between many flows and few.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from marqueue.scenario import compile
from marqueue.validate import ns2
from marqueue.validate.ns2.case import Case, avq, droptail, red

ROOT = Path(__file__).parents[1]

SPEED = {
    "i: 100 Mbit/s, 1000 Reno flows, ECN, RED, 500 B, 50 s": Case(
        "i", red(500, 100, 300, packet=500), flows=1000, rate=100_000_000, segment=500,
        jitter=5.0, duration=50.0, edges=(),
    ),
    "ii: 1 Gbit/s, 1000 SACK flows, RED dropping, 1000 B, 20 s": Case(
        "ii", red(2500, 500, 1500, signal="drop"), "sack", ecn=False, flows=1000,
        rate=1_000_000_000, access=10_000_000_000, jitter=5.0, duration=20.0, edges=(),
    ),
    "iii: 10 Mbit/s, 180 Reno flows, ECN, AVQ, 1000 B, 200 s": Case(
        "iii", avq(100), flows=180, duration=200.0, edges=(),
    ),
}  # fmt: skip

FEW, MANY = 1_000, 5_000


def memory_case(flows: int) -> Case:
    """Long flows that have all begun; two of these tell what a flow takes."""
    return Case(
        f"{flows} flows", droptail(1000), flows=flows, rate=100_000_000, duration=3.0, edges=()
    )


@dataclass(frozen=True)
class Cost:
    """One run."""

    packets: int
    """Through the bottleneck."""
    cpu: float
    """User time of the whole process, s."""
    engine: float
    """CPU time without set-up, s."""
    peak_kb: int

    @property
    def included(self) -> float:
        """Packets per CPU second, set-up included."""
        return self.packets / self.cpu

    @property
    def excluded(self) -> float:
        """Packets per CPU second, set-up excluded."""
        return self.packets / self.engine


def run_ns2(case: Case, seed: int) -> Cost:
    run = ns2.run(case.ns2_arguments(seed))
    return Cost(run.departures, run.cpu, run.cpu - run.setup, run.peak_kb)


def build() -> None:
    """Builds the engine's binary."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", "--example", "once"]
    subprocess.run([*command, "--package", "marqueue-sim"], check=True, cwd=ROOT)


def run_here(case: Case, seed: int) -> Cost:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    with tempfile.TemporaryFile("w+") as plan, tempfile.TemporaryFile("w+") as out:
        json.dump(compile(case.scenario()), plan)
        plan.seek(0)
        command = [str(target / "release" / "examples" / "once"), str(seed)]
        process = subprocess.Popen(command, stdin=plan, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}")
        out.seek(0)
        told = json.load(out)
    return Cost(told["packets"], usage.ru_utime, told["engine"], told["peak_kb"])


def compare(case: Case, rounds: int) -> list[tuple[Cost, Cost]]:
    """Here and ns-2 in turns."""
    return [(run_here(case, seed), run_ns2(case, seed)) for seed in range(1, rounds + 1)]


def spread(values: Sequence[float], digits: int) -> str:
    """Minimum, median and maximum."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{low:.{digits}f} / {middle:.{digits}f} / {high:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each case on each side")
    parser.add_argument("--json", type=Path, help="where to write every measurement")
    arguments = parser.parse_args()
    ns2.install()
    build()
    console = Console(width=None if sys.stdout.isatty() else 130)
    table = Table("min / median / max", "here, Mpkt/CPU s", "ns-2, Mpkt/CPU s", "ratio")
    measured: dict[str, object] = {}
    for name, case in SPEED.items():
        pairs = compare(case, arguments.rounds)
        measured[name] = [[asdict(here), asdict(there)] for here, there in pairs]
        for what in ("excluded", "included"):
            here = [getattr(a, what) / 1e6 for a, _ in pairs]
            there = [getattr(b, what) / 1e6 for _, b in pairs]
            ratio = [a / b for a, b in zip(here, there, strict=True)]
            label = name if what == "excluded" else ""
            table.add_row(
                f"{label}\n  set-up {what}" if label else f"  set-up {what}",
                spread(here, 2), spread(there, 3), spread(ratio, 1),
            )  # fmt: skip
    console.print(table)
    memory = {
        side: 1024
        * (run(memory_case(MANY), 1).peak_kb - run(memory_case(FEW), 1).peak_kb)
        / (MANY - FEW)
        for side, run in (("here", run_here), ("ns-2", run_ns2))
    }
    console.print(
        f"Memory per flow: {memory['here']:.0f} B here, {memory['ns-2']:.0f} B in ns-2"
        f" (peak of {MANY} flows less that of {FEW})"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(measured | {"bytes per flow": memory}, indent=1))


if __name__ == "__main__":
    main()
