"""What `marqueue run --estimate` predicts, beside what the run takes.

    python -m benches.estimate [--only NAME ...]

Each set-up on one thread, by the command: prediction and run, with its files and report, are
processes of their own, one after the other. CPU time of all is that of the command: reading the
scenario, the engine, the result and its files. Measurements and table go to docs/performance.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import marqueue._core as _core
from benches import hybrid_large, scale
from benches.peers import SPEED
from benches.record import record, table
from benches.threads import SHORT_FLOWS
from marqueue import Result, load
from marqueue.scenario import Scenario, from_dict, from_toml
from marqueue.simulation.experiment import replications_of
from marqueue.simulation.limits import NO_LIMITS

COMMAND = """
import atexit, sys, time
from pathlib import Path
from marqueue.cli import main

def say():
    print(Path("/proc/self/status").read_text(), file=sys.stderr)
    print("CPU:", time.process_time(), "s", file=sys.stderr)

atexit.register(say)
main()
"""
"""The command, which says its memory and CPU time at the end."""

ONE = ("--jobs", "1", "--threads", "1")

SCENARIOS = Path(__file__).parents[1] / "scenarios"
HEAD = (
    "set-up",
    "measured",
    *("million packets: predicted", "came", "ratio"),
    *("CPU s, engine: predicted", "came", "ratio"),
    *("CPU s, all: predicted", "came", "ratio"),
    *("MB: predicted", "came", "ratio"),
)


def example(name: str, duration: str, *changes: str) -> Scenario:
    """A scenario of the examples, longer."""
    return load(SCENARIOS / f"{name}.toml", [f"duration={duration}", "replications=1", *changes])


def peer(name: str, seconds: float) -> Scenario:
    """A dumbbell of the comparison with ns-2, longer."""
    case = next(case for key, case in SPEED.items() if key.startswith(f"{name}:"))
    return replace(case, duration=seconds).scenario()


def dumbbell(preset: str, flows: int, each: float, buffer: float, seconds: float) -> Scenario:
    """Long flows of a preset with ``each`` Mbit/s each through PIE, and a buffer of so many
    bandwidth-delay products."""
    rate = flows * each
    return from_toml(f"""
name = "{flows} flows of the preset {preset}"
duration = "{seconds} s"
warmup = "{seconds / 2} s"
replications = 1

[topology]
kind = "dumbbell"
rtts = ["100 ms"]
access = {{ rate = "{max(10 * rate, 1000)} Mbit/s" }}

[topology.bottleneck]
rate = "{rate} Mbit/s"
delay = "10 ms"
buffer = "{max(10, round(buffer * rate * 0.1e6 / 8 / 1000))} packets"
aqm = "pie"

[transport.default]
preset = "{preset}"

[[traffic]]
kind = "tcp"
count = {flows}
jitter = "2 s"
""")


SET_UPS: Mapping[str, Callable[[], Scenario]] = {
    "dumbbell of the examples, 2 h": lambda: example("dumbbell", "7200 s"),
    "parking lot of the examples, 1 h": lambda: example("parking-lot", "3600 s"),
    "(i), 500 s": lambda: peer("i", 500.0),
    "(ii), 200 s": lambda: peer("ii", 200.0),
    "(iii), 20,000 s": lambda: peer("iii", 20_000.0),
    "preset rfc, 1000 flows of 1 Mbit/s, 300 s": lambda: dumbbell("rfc", 1000, 1.0, 1.0, 300.0),
    "preset linux, 1000 flows of 1 Mbit/s, 300 s": lambda: dumbbell("linux", 1000, 1.0, 1.0, 300.0),
    "preset linux, 10,000 flows of 100 kbit/s, 60 s": lambda: dumbbell(
        "linux", 10_000, 0.1, 1.0, 60.0
    ),
    "the same, a tenth of the buffer": lambda: dumbbell("linux", 10_000, 0.1, 0.1, 60.0),
    "preset linux, 100,000 flows of 100 kbit/s, 8 s": lambda: dumbbell(
        "linux", 100_000, 0.1, 1.0, 8.0
    ),
    "short flows, 300 s": lambda: from_toml(SHORT_FLOWS, ["duration=300 s"]),
    "first scenario of the examples, 3000 replications of 1 s": lambda: load(
        SCENARIOS / "first.toml", ["duration=1 s", "warmup=0.5 s", "replications=3000"]
    ),
    "10,000 links, 100,000 flows, 2 s": lambda: from_dict(
        hybrid_large.SIZES["10,000"].values(100_000, 2.0)
    ),
    "bench-scale, 100,000 flows, 10 s": lambda: scale.case(100_000).scenario(),
    "bench-scale, 1,000,000 flows, 10 s": lambda: scale.case(1_000_000).scenario(),
}


def command(*arguments: str) -> tuple[str, int, float]:
    """What ``marqueue run`` prints, the largest memory of its process (bytes) and its CPU time
    (s)."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "run", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    # What the system tells of children at their end would include this process.
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)
    [cpu] = re.findall(r"CPU: (\S+) s", done.stderr)
    return done.stdout, 1024 * int(peak), float(cpu)


def predicted(file: Path) -> dict[str, float]:
    """The prediction for a scenario file."""
    cost = json.loads(command(str(file), *ONE, "--estimate", "--json")[0])
    return {
        "packets": cost["packets"],
        "cpu": cost["cpu_seconds"],
        "all": cost["reading_seconds"] + cost["cpu_seconds"] + cost["result_seconds"],
        "memory": cost["memory"],
        "share": cost["measured_share"],
    }


def came(file: Path) -> dict[str, float]:
    """What the whole run takes."""
    out = file.with_suffix("")
    _, peak, cpu = command(str(file), *ONE, "-o", str(out))
    provenance = Result.load(out).provenance
    # The result has packets by measuring window, without those before.
    packets = 0
    for each in replications_of(load(file), NO_LIMITS):
        raw: Any = _core.run(each.plan, each.seed, _core.Control(), {})
        packets += sum(window["arrivals"] for link in raw["links"] for window in link["windows"])
    return {
        "packets": float(packets),
        "cpu": provenance.circumstances.cpu_seconds,
        "all": cpu,
        "memory": float(peak),
    }


@dataclass(frozen=True)
class Row:
    """A set-up."""

    name: str
    predicted: dict[str, float]
    came: dict[str, float]

    def cells(self) -> list[str]:
        """The row of the table."""
        cells = [self.name, f"{self.predicted['share']:.0%}"]
        units = (("packets", 1e6, 1), ("cpu", 1.0, 1), ("all", 1.0, 1), ("memory", 1e6, 0))
        for key, unit, digits in units:
            ours, real = self.predicted[key], self.came[key]
            cells += [
                f"{ours / unit:.{digits}f}",
                f"{real / unit:.{digits}f}",
                f"{ours / real:.2f}",
            ]
        return cells


def measured(name: str) -> Row:
    """The prediction of a set-up, and what came."""
    with TemporaryDirectory() as folder:
        (file := Path(folder, "scenario.toml")).write_text(SET_UPS[name]().to_toml())
        return Row(name, predicted(file), came(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="set-ups that begin so")
    arguments = parser.parse_args()
    chosen = tuple(arguments.only or [""])
    rows = []
    for name in (name for name in SET_UPS if name.startswith(chosen)):
        rows.append(measured(name))
        print(*rows[-1].cells(), sep="; ", flush=True)
    if not arguments.only:
        record("estimate", [asdict(row) for row in rows], table(HEAD, [r.cells() for r in rows]))


if __name__ == "__main__":
    main()
