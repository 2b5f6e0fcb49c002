"""Runs the engine without Python: benches/once and crates/sim/examples/floor.rs.

    python -m benches.here PROGRAM SCENARIO...

runs scenarios with a build of ``once``, for the profile of `make fast`. Those with Linux kernels or
QUIC are left out.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marqueue.ns2.case import Case
from marqueue.scenario import compile, kernels_of, load
from marqueue.scenario.compilation import Plan

ROOT = Path(__file__).parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ONCE = TARGET / "release" / "once"
REHEARSE = TARGET / "release" / "rehearse"
PROCESSOR_DISTANCE = TARGET / "release" / "processor-distance"
FLOOR = TARGET / "release" / "examples" / "floor"
FAST = ROOT / "target" / "fast" / "release" / "once"
"""``once`` built by a profile, as `make fast` builds the extension."""


@dataclass(frozen=True)
class Run:
    """What a run of ``once`` tells, and what its process took; times in s."""

    packets: int
    """Through all queues."""
    events: int
    utilization: float
    """Of the first link that has a queue, in the last measuring window."""
    setup: float
    """CPU time until the plan is read."""
    engine: float
    """CPU time of the thread that starts the run, building the network from the plan included."""
    wall: float
    """Time of the run."""
    peak_kb: int
    digest: str
    """Of the result."""
    cpu: float
    """User time of the process."""


@dataclass(frozen=True)
class Rehearsal:
    """What a run of ``rehearse`` tells: the parts of a run took turns on one thread; times in s."""

    parts: int
    work: list[float]
    """What each part took."""
    meetings: int
    wall: float
    """What the run would take on processors that do not slow each other down."""
    digest: str
    """Of the result."""


@dataclass(frozen=True)
class Floor:
    """What a run of ``floor`` tells."""

    packets: int
    events: int
    engine: float


def build() -> None:
    """Builds the programs."""
    for package, *what in (["marqueue-once"], ["marqueue-sim", "--example", "floor"]):
        command = ["cargo", "build", "--release", "--quiet", "--locked", "--package", package]
        subprocess.run([*command, *what], check=True, cwd=ROOT)


def run(case: Case, seed: int, program: Path = ONCE) -> Run:
    """One run in a process of its own."""
    return run_plan(compile(case.scenario()), seed, program)


def run_plan(plan: Mapping[str, object], seed: int, program: Path, threads: int = 1) -> Run:
    """One run of a compiled scenario in a process of its own."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out:
        json.dump(plan, given)
        given.seek(0)
        process = subprocess.Popen([str(program), str(seed), str(threads)], stdin=given, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"once ended with {process.returncode}")
        out.seek(0)
        return Run(**json.load(out), cpu=usage.ru_utime)


def rehearse(
    plan: Mapping[str, object], seed: int, threads: int, meeting: float = 0.0
) -> Rehearsal:
    """A run whose parts take turns. A thread needs ``meeting`` ns to see what another has handed
    over."""
    command = [str(REHEARSE), str(seed), str(threads), str(round(meeting))]
    given = json.dumps(plan)
    told = subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE, text=True)
    return Rehearsal(**json.loads(told.stdout))


def processor_distance() -> float:
    """The ns in which a cache line goes there and back between two threads."""
    return float(
        subprocess.run([str(PROCESSOR_DISTANCE)], check=True, stdout=subprocess.PIPE).stdout
    )


def floor(flows: int, classes: int, packets: int) -> Floor:
    """One run of the floor."""
    command = [str(FLOOR), str(flows), str(classes), str(packets)]
    return Floor(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def can_run(plan: Plan) -> bool:
    """Whether ``once``, which has neither Linux kernels nor the QUIC library, can run a plan."""
    return not kernels_of(plan) and not any("quic" in each["kind"] for each in plan["traffic"])


if __name__ == "__main__":
    program, *scenarios = sys.argv[1:]
    for plan in map(compile, map(load, scenarios)):
        if can_run(plan):
            run_plan(plan, 1, Path(program))
