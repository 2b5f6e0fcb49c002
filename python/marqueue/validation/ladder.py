"""Runs the ladder: the tasks of all rungs in parallel, and their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from marqueue import __version__
from marqueue.results.provenance import commit
from marqueue.validation.check import Check, Verdict, counted
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

Progress = Callable[[float, float], None]
"""Receives the completed and the total work."""

POLL = 0.2
"""Interval at which the main thread checks for progress and interrupts, s."""


@dataclass(frozen=True)
class RungResult:
    """The checks of a rung, or why it was skipped."""

    rung: Rung
    checks: Sequence[Check]
    skipped: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rung": self.rung.name,
            "title": self.rung.title,
            "skipped": self.skipped,
            "checks": [check.as_dict() for check in self.checks],
        }


@dataclass(frozen=True)
class Ladder:
    """The results of all rungs."""

    effort: Effort
    rungs: Sequence[RungResult]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of all checks."""
        return [check.verdict for each in self.rungs for check in each.checks]

    @property
    def passed(self) -> bool:
        """Whether nothing failed or is unclear."""
        return not {"fail", "unclear"} & set(self.verdicts)

    @property
    def summary(self) -> str:
        """The number of passed checks, as a sentence."""
        skipped = [each.rung.name for each in self.rungs if each.skipped]
        text = f"{len(self.verdicts)} checks: {counted(self.verdicts)}"
        return f"{text}; skipped: {', '.join(skipped)}" if skipped else text

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "version": __version__,
            "commit": commit(),
            "effort": self.effort.value,
            "passed": self.passed,
            "summary": self.summary,
            "rungs": [each.as_dict() for each in self.rungs],
        }


def climb(
    rungs: Sequence[Rung],
    effort: Effort = Effort.FULL,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Ladder:
    """Runs the tasks of these rungs, ``jobs`` at a time; by default one per processor.

    The verdicts do not depend on ``jobs``. An interrupt stops all tasks within a fraction of a
    second.
    """
    skipped = {rung.name: rung.missing() for rung in rungs}
    tasks = {rung.name: () if skipped[rung.name] else rung.tasks(effort) for rung in rungs}
    checks = _run([t for each in tasks.values() for t in each], jobs or _processors(), progress)
    found = iter(checks)
    return Ladder(
        effort,
        [
            RungResult(
                rung,
                [check for _ in tasks[rung.name] for check in next(found)],
                skipped[rung.name],
            )
            for rung in rungs
        ],
    )


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _run(tasks: Sequence[Task], jobs: int, progress: Progress | None) -> list[Sequence[Check]]:
    """The checks of each task. The longest tasks start first, so that none delays the end."""
    bench = TaskRunner()
    total = sum(task.cost for task in tasks)
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="task") as pool:
        longest_first = sorted(range(len(tasks)), key=lambda i: -tasks[i].cost)
        futures = {i: pool.submit(tasks[i].checks, bench) for i in longest_first}
        try:
            pending = set(futures.values())
            while pending:
                done, pending = wait(pending, timeout=POLL, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if progress:
                    ended = (tasks[i].cost for i, future in futures.items() if future.done())
                    progress(sum(ended), total)
        except BaseException:
            bench.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [futures[i].result() for i in range(len(tasks))]
