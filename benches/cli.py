"""What the command costs beyond its simulations, and what `import marqueue` costs.

    python -m benches.cli [--label NAME] [--rounds N]

Each command runs in turn, each time in a process and a directory of its own. CPU time is that of
the process and of those it started, user and system. The engine's CPU time is what the result says
of itself, where it does (``circumstances.json``), and is subtracted. A value is the median of the
rounds, with the 95% interval of the median by order statistics. The measurements are stored in
docs/performance/cli.json under the label, and the table compares all labels there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path

import tomli_w

from benches.peers import SPEED
from benches.record import FOLDER, record, table

ROOT = Path(__file__).parents[1]
DUMBBELL = str(ROOT / "scenarios" / "dumbbell.toml")
LARGE = "large.toml"
"""The first dumbbell of benches.peers, with the time series that a user records."""
A, B = "a", "b"
"""Two results to compare."""
OUT = "out"
MARQUEUE = ["-m", "marqueue"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""With compiled Python kept, as in an installation."""

COMMANDS: Mapping[str, Sequence[str]] = {
    "import marqueue": ["-c", "import marqueue"],
    "marqueue --version": [*MARQUEUE, "--version"],
    "run, scenarios/dumbbell.toml": [*MARQUEUE, "run", DUMBBELL, "-o", OUT],
    "run --no-report, the same": [*MARQUEUE, "run", DUMBBELL, "-o", OUT, "--no-report"],
    "run, 1000 flows at 100 Mbit/s": [*MARQUEUE, "run", LARGE, "-o", OUT],
    "run --no-report, the same 1000 flows": [*MARQUEUE, "run", LARGE, "-o", OUT, "--no-report"],
    "sweep, four points of the dumbbell": [
        *MARQUEUE, "sweep", DUMBBELL, "-o", OUT,
        "--over", "topology.bottleneck.aqm=red,codel", "--over", "traffic.long.count=20,60",
    ],
    "compare, two results": [*MARQUEUE, "compare", A, B],
    "paper run drq theory --quick": [
        *MARQUEUE, "paper", "run", "drq", "theory", "--quick", "-o", OUT
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """One command; times in s."""

    wall: float
    cpu: float
    """Of the process and its children, user and system."""
    engine: float
    """CPU time of the simulations that the output tells; 0 if it tells none."""

    @property
    def beyond(self) -> float:
        """CPU time beyond the engine."""
        return self.cpu - self.engine


@dataclass(frozen=True)
class Middle:
    """A median with its interval."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Middle":
        """The median of independent values and the narrowest pair of order statistics that covers
        it with a probability of at least 95%; the extremes if none does."""
        ordered, n = sorted(values), len(values)
        below, rank = 0.0, 0
        while rank < n // 2 and below + comb(n, rank) / 2**n <= 0.025:
            below += comb(n, rank) / 2**n
            rank += 1
        place = max(rank - 1, 0)
        return cls(statistics.median(ordered), ordered[place], ordered[n - 1 - place])

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def timed(arguments: Sequence[str], folder: Path) -> Cost | None:
    """What Python with these arguments takes; None if the command has no such option."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            message = said.read()
            if "No such option" in message:
                return None
            raise RuntimeError(f"{' '.join(arguments)}: {message}")
    told = folder / OUT / "circumstances.json"
    engine = json.loads(told.read_text())["cpu_seconds"] if told.exists() else 0.0
    return Cost(wall, usage.ru_utime + usage.ru_stime, engine)


def prepare(folder: Path) -> None:
    """Writes the scenario and the two results that commands read; Python is compiled on the way."""
    [case, *_] = SPEED.values()
    (folder / LARGE).write_text(tomli_w.dumps({**case.scenario().to_dict(), "sample": "100 ms"}))
    for name, seed in ((A, "1"), (B, "2")):
        timed([*MARQUEUE, "run", DUMBBELL, "--seed", seed, "-o", name], folder)


def measure(rounds: int) -> dict[str, list[Cost]]:
    """The costs of each command that this version has."""
    costs: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as given:
        prepare(Path(given))
        for _ in range(rounds):
            for name, arguments in COMMANDS.items():
                with tempfile.TemporaryDirectory() as fresh:
                    folder = Path(fresh)
                    for each in (LARGE, A, B):
                        (folder / each).symlink_to(Path(given) / each)
                    cost = timed(arguments, folder)
                if cost is not None:
                    costs[name].append(cost)
    return {name: each for name, each in costs.items() if each}


def report(measured: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]) -> str:
    """The table of all labels: a row for each command."""
    head = ["command", *(f"CPU s, {label}" for label in measured)]
    head += [f"wall s, {label}" for label in measured]
    rows = []
    for name in COMMANDS:
        there = [[Cost(**each) for each in of.get(name, ())] for of in measured.values()]
        cpu = [str(Middle.of([c.beyond for c in of])) if of else "" for of in there]
        wall = [str(Middle.of([c.wall for c in of])) if of else "" for of in there]
        rows.append([name, *cpu, *wall])
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--label", default="now", help="name of these measurements")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each command")
    arguments = parser.parse_args()
    kept = FOLDER / "cli.json"
    measured = json.loads(kept.read_text()) if kept.exists() else {}
    measured[arguments.label] = {
        name: [asdict(cost) for cost in costs] for name, costs in measure(arguments.rounds).items()
    }
    record("cli", measured, report(measured))


if __name__ == "__main__":
    main()
