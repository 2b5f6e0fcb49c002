"""A point of a sweep as a job: what a process on another machine is given, and what it does.

The process writes the result of the point into the checkpoints of the sweep, which are on a file
system that all machines share. So the result is there even if the process that submitted it has
ended, and ``--resume`` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marqueue.errors import MarqueueError, RunError
from marqueue.programs.registry import read_text
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import IDENTITY, Checkpoints
from marqueue.simulation.executor import CallingThread, Executor
from marqueue.simulation.experiment import Experiment
from marqueue.simulation.limits import Limits
from marqueue.simulation.sweep_point import SweepPoint


@dataclass(frozen=True)
class PointJob:
    """A point to run; all of it can be pickled, and read by another process of the same build."""

    scenario: Scenario
    """Checked."""
    until: tuple[str, ...]
    max_events: int | None
    checkpoints: Path
    """Absolute; of the whole sweep."""
    identity: Mapping[str, Any]
    """What tells the sweep from others."""
    number: int
    directory: Path
    """Where the result of the point goes, in the checkpoints."""
    programs: Mapping[str, str]
    """The sources of the user's programs in Python, by file."""
    seconds: float
    """Simulated time of the point at most."""
    threads: int


def point_jobs(
    points: Sequence[SweepPoint], checkpoints: Checkpoints, limits: Limits, threads: int
) -> dict[int, PointJob]:
    """Points by number as jobs with so many threads each. Of the limits only that of events
    applies: the others are those of this process."""
    assert checkpoints.path is not None, "points are stored until the last has ended"
    checkpoints.begin()
    path = checkpoints.path.resolve()
    return {
        each.number: PointJob(
            scenario=each.experiment.scenario,
            until=tuple(bound.text for bound in each.experiment.bounds),
            max_events=limits.max_events,
            checkpoints=path,
            identity=checkpoints.run,
            number=each.number,
            directory=path / each.directory.relative_to(checkpoints.path),
            programs=each.programs,
            threads=threads,
            seconds=each.experiment.seconds,
        )
        for each in points
    }


@dataclass(frozen=True)
class Refused:
    """The error of a user's that ended a point: in each attempt it would be the same."""

    kind: type[MarqueueError]
    message: str


def run_point(job: PointJob) -> Refused | None:
    """Runs a point and stores its result; returns why it cannot be run, if so."""
    try:
        _run(job)
    except MarqueueError as error:
        kind = type(error) if isinstance(error, RunError) else RunError
        return Refused(kind, str(error))
    return None


def _run(job: PointJob) -> None:
    checkpoints = Checkpoints(job.checkpoints, resume=True)
    if not (job.checkpoints / IDENTITY).exists():
        raise RunError(
            f"{job.checkpoints}: not there on this machine, expected an output directory on a file "
            "system that all machines share"
        )
    # It also has the digest of the program: another build here is refused.
    checkpoints.belong_to(job.identity)
    for file, text in job.programs.items():
        read_text(file, text)
    experiment = Experiment.of(job.scenario, None, job.scenario.replications, job.until)
    point = SweepPoint(job.number, experiment, job.directory)
    if point.is_completed(checkpoints):
        return  # by an earlier attempt, whose answer was lost
    limits = Limits(max_events=job.max_events)
    pool = CallingThread() if job.threads == 1 else None
    executor: Executor[Result | None] = Executor(job.threads, checkpoints, limits, pool=pool)
    with closing(executor.complete([experiment.work(executor, limits)], job.seconds)) as results:
        [(_, result)] = results
    assert result is not None, "without limits of time and memory everything is measured"
    point.store(result, limits, checkpoints)
