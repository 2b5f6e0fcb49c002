"""Running a scenario over a grid of values: a result for each point, and a table of all points.

All points have the same seeds, which gives common random numbers (Law, *Simulation Modeling and
Analysis*, 5th ed., section 11.2), and share threads. A point is written as soon as it is complete,
and the table is made from the written results. Therefore only a few points are in memory at a time,
and a resumed sweep gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from marqueue.errors import RunError
from marqueue.results import Subject, choose, subjects_of
from marqueue.results.integrity import seal_directory
from marqueue.results.output_directory import POINTS, OutputDirectory, claim
from marqueue.results.provenance import here
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.cluster.cluster import complete
from marqueue.simulation.cluster.point_job import point_jobs
from marqueue.simulation.cluster.processes import Processes
from marqueue.simulation.executor import Executor, Progress
from marqueue.simulation.experiment import Experiment
from marqueue.simulation.limits import NO_LIMITS, Limits
from marqueue.simulation.parameter_grid import Axis, Point, grid
from marqueue.simulation.sweep_point import SweepPoint
from marqueue.simulation.sweep_result import DEFAULT_FIGURES, MeasuredPoint, Sweep

if TYPE_CHECKING:
    from marqueue.results import Result

POINTS_A_PROCESS = 8
"""Points from which a process of its own pays. It takes 0.4 s to start, and at the end one process
may wait for the last point of another."""

ReportWriter = Callable[["Sweep", Path], object]
"""Writes the report of a sweep into a directory (:mod:`marqueue.reports.sweep_report`)."""


def sweep(
    scenario: Scenario,
    over: Sequence[str],
    out: Path,
    *,
    figures: Sequence[str] = DEFAULT_FIGURES,
    replications: int | None = None,
    until: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    limits: Limits = NO_LIMITS,
    resume: bool = False,
    force: bool = False,
    write_report: ReportWriter | None = None,
    on: ClusterChoice | None = None,
) -> Sweep:
    """Runs a scenario over a grid and writes all results into the directory ``out``.

    ``over`` are axes such as ``"topology.bottleneck.aqm.gamma=0.9,0.98"``. ``figures`` are the
    figures in the report: ``"delay_p99"`` of every link, ``"jain"`` of all flows, or
    ``"long.goodput"`` of a link, group or class. ``resume`` continues an interrupted sweep;
    ``force`` replaces an existing result. All other arguments are as for :func:`marqueue.run` and
    apply to each point, except that limits of time and memory apply to the whole sweep.

    With ``on`` each point is a job of a cluster, with ``jobs`` threads (by default one). All
    machines must share the file system that ``out`` is on. The result is the same.

    Raises ScenarioError or RunError with all invalid values before anything runs.

    >>> from pathlib import Path
    >>> from marqueue import load
    >>> from marqueue.simulation.sweep import sweep
    >>> scenario = load("scenarios/dumbbell.toml", ["replications=2"])
    >>> swept = sweep(scenario, ["topology.bottleneck.aqm=red,pie"], Path("results/aqms"))
    >>> frame = swept.to_pandas()
    >>> delays = frame[(frame.link == "bottleneck") & (frame.figure == "delay_p99")]
    >>> list(delays["topology.bottleneck.aqm"]), set(delays.unit), list(delays.n)
    (['red', 'pie'], {'s'}, [2, 2])
    """
    with ExitStack() as stack:
        processes = stack.enter_context(early_processes(over, jobs, limits, on))
        request = SweepRequest.of(scenario, over, replications, until, figures)
        output = stack.enter_context(claim(out, replace=force, resume=resume))
        checkpoints = Checkpoints.beside(output.shown, resume, force)
        swept = sweep_into(
            output, checkpoints, request, jobs, progress, limits, write_report, on, processes
        )
        if not swept.stopped:
            checkpoints.discard()
        return swept


@contextmanager
def early_processes(
    over: Sequence[str], jobs: int | None, limits: Limits, on: ClusterChoice | None
) -> Iterator[Processes]:
    """The processes that a sweep over such axes is likely to need. They start at once, so that they
    import while the grid is read, and end with the block."""
    processes = Processes(0 if on else _most_processes(_count(over), jobs, limits))
    try:
        processes.start()
        yield processes
    finally:
        processes.cancel()


def _count(over: Sequence[str]) -> int:
    """The points of a grid; 0 for axes that are refused when it is read."""
    try:
        return math.prod(len(Axis.parse(text).values) for text in over)
    except RunError:
        return 0


@dataclass(frozen=True)
class SweepRequest:
    """A scenario with a checked grid of points."""

    scenario: Scenario
    axes: Sequence[Axis]
    points: Sequence[Point]
    runs: Sequence[Experiment]
    """The experiment of each point."""
    figures: Sequence[str]
    """The figures in the report and the printed table."""
    named: Sequence[Subject]
    """The links, groups and classes that are named in them."""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        over: Sequence[str],
        replications: int | None,
        until: Sequence[str],
        figures: Sequence[str] = DEFAULT_FIGURES,
    ) -> SweepRequest:
        """Checks the arguments. Raises ScenarioError or RunError with all invalid values."""
        axes = [Axis.parse(text) for text in over]
        asked = Experiment.of(scenario, None, replications, until).scenario
        points = grid(asked, axes)
        among = subjects_of(points[0].scenario)
        named = [each.subject for of in figures for each in choose(of, among) if "." in of]
        runs = [Experiment.of(each.scenario, None, replications, until) for each in points]
        once = dict.fromkeys
        return cls(scenario, axes, points, runs, list(once(figures)), list(once(named)))

    @property
    def names(self) -> list[str]:
        """The directory of each point, relative to that of the sweep."""
        digits = len(str(len(self.points)))
        return [f"{POINTS}/{each.number:0{digits}}" for each in self.points]


def sweep_into(
    output: OutputDirectory,
    checkpoints: Checkpoints,
    request: SweepRequest,
    jobs: int | None,
    progress: Progress | None,
    limits: Limits,
    write_report: ReportWriter | None,
    on: ClusterChoice | None,
    processes: Processes,
) -> Sweep:
    """Runs a sweep and writes it into a claimed directory. The checkpoints are kept, to continue
    after a limit. ``processes`` are those of :func:`early_processes`.

    Raises RunError if a limit is reached before any point is complete.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    checkpoints.belong_to(
        {
            "scenario": request.scenario.to_dict(),
            "over": {axis.path: list(axis.values) for axis in request.axes},
            **request.runs[0].rules(limits),
        }
    )
    assert checkpoints.path is not None, "points are stored until the last has ended"
    names = request.names
    directories = [checkpoints.path / name for name in names]
    points = [
        SweepPoint(point.number, run, directory)
        for point, run, directory in zip(request.points, request.runs, directories, strict=True)
    ]
    missing = [each for each in points if not each.is_completed(checkpoints)]
    executor: Executor[Result | None] = Executor(jobs, checkpoints, limits, progress)
    if on is not None:
        on.refuse(limits)
        completed = on.run(missing, checkpoints, jobs or 1, limits, progress)
    else:
        processes.most = _processes(missing, jobs, limits)
        processes.start()
        if processes.most:
            jobs_of_points = point_jobs(missing, checkpoints, limits, 1)
            completed = complete(processes, jobs_of_points, progress)
        else:
            completed = _run_in_threads(missing, executor, checkpoints, limits)
    # Read as they end, while others run: at the end one processor would be busy and the others
    # wait. What a crash of the machine leaves damaged before the end is found by its digest.
    there = {each.number for each in points} - {each.number for each in missing}
    found = {}
    with closing(completed) as numbers:
        for number in chain(there, numbers):
            point, directory = request.points[number - 1], directories[number - 1]
            found[number] = MeasuredPoint.read(point, names[number - 1], directory, request.named)
    measured = [found[number] for number in sorted(found)]
    stopped = executor.stopped
    if not measured:
        raise RunError(f"{stopped} was reached before any point was complete")
    swept = Sweep(request.scenario, request.axes, measured, len(request.points), stopped)
    # Points are moved. Links to their files, which take half a second for 500 of them, are made
    # only where the checkpoints are kept or have other files.
    moves = not stopped and {each.name for each in directories} == {*os.listdir(checkpoints.points)}
    with output.staged(checkpoints.points if moves else None) as fresh:
        if not moves:
            for each in measured:
                source = checkpoints.path / each.directory
                shutil.copytree(source, fresh / each.directory, copy_function=os.link)
        swept.write(fresh)
        if write_report is not None:
            write_report(swept, fresh)
        made = here(
            started_at,
            time.perf_counter() - started,
            sum(each.cpu_seconds for each in measured),
            len(request.points) - len(missing),
        )
        seal_directory(fresh, swept.provenance(), dataclasses.asdict(made))
    return swept


def _processes(points: Sequence[SweepPoint], jobs: int | None, limits: Limits) -> int:
    """In how many processes to run points; 0: in threads of this one."""
    programs = any(each.programs for each in points)
    return _most_processes(len(points), jobs, limits, programs=programs)


def _most_processes(
    points: int, jobs: int | None, limits: Limits, *, programs: bool = False
) -> int:
    """In how many processes to run so many points; 0: in threads of this one.

    Threads share replications, so that none is idle at the end. Processes do at once what Python
    does in turn: programs, and whatever is not the engine.
    """
    most = min(jobs or len(os.sched_getaffinity(0)), points)
    in_this_process = limits.max_seconds is not None or limits.max_bytes is not None
    if in_this_process or most <= 1:
        return 0
    return most if programs or points >= POINTS_A_PROCESS * most else 0


def _run_in_threads(
    points: Sequence[SweepPoint],
    executor: Executor[Result | None],
    checkpoints: Checkpoints,
    limits: Limits,
) -> Generator[int]:
    """Runs points in threads, which they share; yields their numbers as their results are stored.
    A limit of time or memory ends it."""
    works = (each.experiment.work(executor, limits) for each in points)
    total = sum(each.experiment.seconds for each in points)
    with closing(executor.complete(works, total)) as results:
        for position, result in results:
            if result is not None and not (result.partial and executor.stopped):
                points[position].store(result, limits, checkpoints)
                yield points[position].number
    if executor.stopped:
        checkpoints.keep()
