"""Replications in threads. Several runs share them, so that the last replications of one and the
first of the next run side by side."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.simulation.checkpoints import Checkpoints, Outcome, Replication
from marqueue.simulation.limits import NO_LIMITS, LimitMonitor, Limits

T = TypeVar("T")

Progress = Callable[[float, float], None]
"""Is told how many simulated seconds are done, and of how many."""

Steps = Generator[Sequence[Replication], Sequence[Outcome], T]
"""Asks for replications, is sent what came of them in their order (fewer once a limit is reached),
and ends with a result."""

POLL = 0.1
"""How often, in seconds, the main thread looks at progress, limits and interrupts."""


@dataclass(frozen=True)
class Work(Generic[T]):
    """One run: its steps, and how many simulated seconds they take at most."""

    steps: Steps[T]
    seconds: float


@dataclass
class _ActiveWork(Generic[T]):
    """A run in the pool: what it waits for, and what has come of it."""

    index: int
    work: Work[T]
    waiting: int = 0
    outcomes: dict[int, Outcome] | None = None
    """By the place in what was asked for; None before the first step."""
    done: float = 0.0
    """Simulated seconds of what has ended."""


@dataclass(frozen=True)
class _Task(Generic[T]):
    """A replication in a thread."""

    of: _ActiveWork[T]
    outcomes: dict[int, Outcome]
    """Where its own goes."""
    place: int
    replication: Replication
    control: _core.Control


class Executor(Generic[T]):
    """Threads that run replications; those that have a checkpoint are not run again."""

    def __init__(
        self,
        jobs: int | None = None,
        checkpoints: Checkpoints | None = None,
        limits: Limits = NO_LIMITS,
        progress: Progress | None = None,
    ) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.stopped: str | None = None
        """The limit of time or memory that ended the work before its end, in words."""
        self._checkpoints = checkpoints or Checkpoints()
        self._limits = limits
        self._watch = LimitMonitor(limits)
        self._progress = progress
        self._tasks: dict[Future[Outcome], _Task[T]] = {}
        self._begun: list[_ActiveWork[T]] = []
        self._done = 0.0

    def complete(self, works: Iterable[Work[T]], total: float) -> Generator[tuple[int, T]]:
        """The results of the works as they end, each with its number.

        ``total`` simulated seconds are all of them together. Works are begun as threads become
        free, so that only a few are held in memory; none is begun after a limit is reached. Close
        the iterator to stop the threads.
        """
        queue = enumerate(works)
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="replication") as threads:
            try:
                while True:
                    while self._has_room() and (new := next(queue, None)):
                        self._begun.append(_ActiveWork(*new))
                        yield from self._advance(self._begun[-1], threads)
                    self._tell(total)
                    if not self._tasks:
                        break
                    for begun in self._ended():
                        yield from self._advance(begun, threads)
            finally:
                for task in self._tasks.values():
                    task.control.cancel()
                threads.shutdown(wait=False, cancel_futures=True)

    def _has_room(self) -> bool:
        """Twice as many replications as threads: the main thread has other things to do too."""
        return not self.stopped and len(self._tasks) < 2 * self.jobs

    def _advance(
        self, begun: _ActiveWork[T], threads: ThreadPoolExecutor
    ) -> Iterator[tuple[int, T]]:
        """Takes a run's next step, and those after it whose replications all have checkpoints."""
        steps = begun.work.steps
        while not begun.waiting:
            try:
                if begun.outcomes is None:
                    asked = next(steps)
                else:
                    asked = steps.send([begun.outcomes[i] for i in sorted(begun.outcomes)])
            except StopIteration as end:
                self._begun.remove(begun)
                self._done += begun.work.seconds
                yield begun.index, end.value
                return
            begun.outcomes = {}
            for place, replication in enumerate(asked):
                control = _core.Control(self._limits.max_events)
                self._begin(_Task(begun, begun.outcomes, place, replication, control), threads)

    def _begin(self, task: _Task[T], threads: ThreadPoolExecutor) -> None:
        found = self._checkpoints.find(task.replication)
        if found:
            task.outcomes[task.place] = found
            task.of.done += task.replication.seconds
        elif not self.stopped:
            task.of.waiting += 1
            self._tasks[threads.submit(self._replicate, task)] = task

    def _replicate(self, task: _Task[T]) -> Outcome:
        """Runs in a thread."""
        before = time.thread_time()
        try:
            raw = _core.run(task.replication.plan, task.replication.seed, task.control)
        except _core.TraceFull as full:
            raise RunError(f"trace: {full}") from None
        outcome = Outcome(task.replication, raw, time.thread_time() - before)
        if not self.stopped:
            self._checkpoints.put(outcome)
        return outcome

    def _ended(self) -> list[_ActiveWork[T]]:
        """Waits a moment; the runs that wait for nothing then."""
        done, _ = wait(self._tasks, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in done:
            task = self._tasks.pop(future)
            task.outcomes[task.place] = future.result()
            task.of.done += task.replication.seconds
            task.of.waiting -= 1
        reached = None if self.stopped else self._watch.reached()
        if reached:
            self._stop(reached)
        return [begun for begun in self._begun if not begun.waiting]

    def _stop(self, reached: str) -> None:
        """Cuts off what runs, and forgets what does not yet."""
        self.stopped = reached
        for future, task in list(self._tasks.items()):
            if future.cancel():
                del self._tasks[future]
                task.of.waiting -= 1
            else:
                task.control.stop()

    def _tell(self, total: float) -> None:
        if self._progress:
            ended = self._done + sum(begun.done for begun in self._begun)
            running = sum(task.control.done_secs() for task in self._tasks.values())
            self._progress(min(ended + running, total), total)
