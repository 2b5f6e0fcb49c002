"""Runs replications, as a rule in threads. Several experiments share the threads, so that the last
replications of one run beside the first of the next. Where there are more processors than
replications, one replication can have several threads."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import marqueue._core as _core
from marqueue.errors import GuestError, RunError, ScenarioError
from marqueue.programs.registry import broken
from marqueue.results.output_file import unwritable
from marqueue.simulation.checkpoints import Checkpoints, Outcome, Replication
from marqueue.simulation.limits import NO_LIMITS, LimitMonitor, Limits
from marqueue.simulation.replication_threads import refusal, threads_of

T = TypeVar("T")

Progress = Callable[[float, float], None]
"""Called with the simulated seconds that are done, and their total."""

Steps = Generator[Sequence[Replication], Sequence[Outcome], T]
"""A generator that yields replications to run, receives their outcomes in the same order (fewer
after a limit is reached), and returns a result."""

POLL = 0.1
"""Seconds between checks of progress, limits and interrupts by the main thread."""


@dataclass(frozen=True)
class Work(Generic[T]):
    """One experiment: its steps, and their total duration at most (simulated seconds)."""

    steps: Steps[T]
    seconds: float


@dataclass
class _ActiveWork(Generic[T]):
    """An experiment in progress."""

    index: int
    work: Work[T]
    waiting: int = 0
    """Replications that are running or queued."""
    outcomes: dict[int, Outcome] | None = None
    """Outcomes by their index in the current step; None before the first step."""
    done: float = 0.0
    """Simulated seconds of completed replications."""


@dataclass(frozen=True)
class _Task(Generic[T]):
    """A replication in a thread."""

    owner: _ActiveWork[T]
    outcomes: dict[int, Outcome]
    """The outcomes of its step, which get its own."""
    index: int
    replication: Replication
    control: _core.Control
    threads: int


class CallingThread(futures.Executor):
    """Runs each replication in the thread that submits it, before it returns.

    For processes that have nothing else to do and need not answer Ctrl-C. There a thread for each
    replication costs 15 % of the throughput of short ones: the system often starts it on the
    processor of another process, and moves it only milliseconds later.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """The future of a call that has ended."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Executor(Generic[T]):
    """Threads that run replications. Replications with a checkpoint do not run again."""

    def __init__(
        self,
        jobs: int | None = None,
        checkpoints: Checkpoints | None = None,
        limits: Limits = NO_LIMITS,
        progress: Progress | None = None,
        threads: int | None = None,
        pool: futures.Executor | None = None,
    ) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._asked_for = (jobs, threads)
        """Replications at a time and threads of each, or None."""
        self._pool = pool
        """What runs replications; None for so many threads."""
        self.stopped: str | None = None
        """The limit of time or memory that ended the work, in words."""
        self._checkpoints = checkpoints or Checkpoints()
        self._limits = limits
        self._monitor = LimitMonitor(limits)
        self._progress = progress
        self._tasks: dict[Future[Outcome], _Task[T]] = {}
        self._completed: SimpleQueue[Future[Outcome]] = SimpleQueue()
        """Tasks that have ended. To look for them among all would take a time in the square of
        their number."""
        self._reported = -math.inf
        """When progress was reported last (s, monotonic)."""
        self._begun: list[_ActiveWork[T]] = []
        self._done = 0.0

    def threads_asked_for(self, plan: str) -> int:
        """The threads that each replication of a plan has because so many were asked for, else 1.

        Raises ScenarioError if the plan cannot be run.
        """
        _, threads = self._asked_for
        if threads is None or self._limits != NO_LIMITS:
            return 1
        return threads_of(plan, 1, None, threads)

    def complete(self, works: Iterable[Work[T]], total: float) -> Generator[tuple[int, T]]:
        """Yields the results of the works as they complete, each with its index.

        ``total`` is their duration together in simulated seconds. A work starts when threads are
        free, so only a few are in memory; none starts after a limit is reached. Closing the
        iterator stops the threads.
        """
        queue = enumerate(works)
        with self._pool or ThreadPoolExecutor(self.jobs, "replication") as pool:
            try:
                while True:
                    while self._has_room() and (new := next(queue, None)):
                        self._begun.append(_ActiveWork(*new))
                        yield from self._advance(self._begun[-1], pool)
                    self._report_progress(total)
                    if not self._tasks:
                        break
                    for begun in self._ended():
                        yield from self._advance(begun, pool)
            finally:
                for task in self._tasks.values():
                    task.control.cancel()
                pool.shutdown(wait=False, cancel_futures=True)

    def _has_room(self) -> bool:
        """Whether there are fewer than two replications per thread, so that threads never wait."""
        return not self.stopped and len(self._tasks) < 2 * self.jobs

    def _advance(self, begun: _ActiveWork[T], pool: futures.Executor) -> Iterator[tuple[int, T]]:
        """Takes the next step of a work, and further steps as long as checkpoints complete them."""
        steps = begun.work.steps
        while not begun.waiting:
            try:
                if begun.outcomes is None:
                    step = next(steps)
                else:
                    step = steps.send([begun.outcomes[i] for i in sorted(begun.outcomes)])
            except StopIteration as end:
                self._begun.remove(begun)
                self._done += begun.work.seconds
                yield begun.index, end.value
                return
            begun.outcomes = {}
            each = self._threads_of_each(step)
            for index, replication in enumerate(step):
                control = _core.Control(self._limits.max_events, self._checkpoints.flows_in)
                task = _Task(begun, begun.outcomes, index, replication, control, each)
                self._begin(task, pool)

    def _threads_of_each(self, step: Sequence[Replication]) -> int:
        """How many threads each replication of a step has. They differ in their seeds only."""
        if not step or self._limits != NO_LIMITS:
            # A run on several threads cannot be cut off between two events.
            return 1
        ours = sum(task.threads for task in self._tasks.values())
        replications = len(step) + len(self._tasks)
        return threads_of(step[0].plan, replications, *self._asked_for, ours)

    def _begin(self, task: _Task[T], pool: futures.Executor) -> None:
        found = self._checkpoints.find(task.replication)
        if found:
            task.outcomes[task.index] = found
            task.owner.done += task.replication.seconds
        elif not self.stopped:
            task.owner.waiting += 1
            future = pool.submit(self._replicate, task)
            self._tasks[future] = task
            future.add_done_callback(self._completed.put)

    def _replicate(self, task: _Task[T]) -> Outcome:
        """Runs a replication; called in a thread."""
        before = time.thread_time()
        try:
            plan, threads = task.replication.plan, task.threads
            kernels = {each.name: each.paths for each in task.replication.kernels}
            raw = _core.run(plan, task.replication.seed, task.control, kernels, threads)
        except _core.PlanError as refused:
            raise ScenarioError([refusal(task.replication.plan, *refused.args)]) from None
        except _core.GuestFailed as failed:
            raise GuestError(str(failed)) from None
        except _core.ProgramFailed as failed:
            run = f"{task.replication.name}, engine's seed {task.replication.seed}"
            raise broken(failed, run) from None
        except _core.FlowsNotWritten as failed:
            reason = os.strerror(failed.errno) if failed.errno else str(failed)
            raise unwritable(self._checkpoints.flows_in, OSError(failed.errno, reason)) from None
        except _core.TraceFull as full:
            raise RunError(f"trace: {full}") from None
        # Each thread of a run is busy until all are done.
        spent = (time.thread_time() - before) * threads
        outcome = Outcome(task.replication, raw, spent)
        if not self.stopped:
            self._checkpoints.put(outcome)
        return outcome

    def _ended(self) -> list[_ActiveWork[T]]:
        """Waits for up to :data:`POLL` seconds. Returns the works that have completed their
        step."""
        for future in _arrived(self._completed, POLL):
            task = self._tasks.pop(future, None)
            if task is None:
                # It has been cancelled.
                continue
            task.outcomes[task.index] = future.result()
            task.owner.done += task.replication.seconds
            task.owner.waiting -= 1
        reached = None if self.stopped else self._monitor.reached()
        if reached:
            self._stop(reached)
        return [begun for begun in self._begun if not begun.waiting]

    def _stop(self, reached: str) -> None:
        """Stops running replications, and cancels those that have not started."""
        self.stopped = reached
        for future, task in list(self._tasks.items()):
            if future.cancel():
                del self._tasks[future]
                task.owner.waiting -= 1
            else:
                task.control.stop()

    def _report_progress(self, total: float) -> None:
        now = time.monotonic()
        if self._progress and (not self._tasks or now >= self._reported + POLL):
            self._reported = now
            ended = self._done + sum(begun.done for begun in self._begun)
            running = sum(task.control.done_secs() for task in self._tasks.values())
            self._progress(min(ended + running, total), total)


def _arrived(queue: SimpleQueue[T], seconds: float) -> list[T]:
    """What is in a queue, as soon as that is anything; empty if nothing comes for so long."""
    arrived: list[T] = []
    try:
        arrived.append(queue.get(timeout=seconds))
        while True:
            arrived.append(queue.get_nowait())
    except Empty:
        return arrived
