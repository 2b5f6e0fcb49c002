"""What the ladder is made of: rungs, each a list of tasks that can run beside each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from matplotlib.figure import Figure

import marqueue
from marqueue import ns2
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.validation.check import Check

T = TypeVar("T")


class Effort(Enum):
    """How long a ladder may take."""

    FULL = "full"
    QUICK = "quick"

    def pick(self, full: T, quick: T) -> T:
        """What is right for this effort."""
        return full if self is Effort.FULL else quick


class TaskRunner:
    """Where tasks run their simulations, so that they can be stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Lets whatever runs here end within a fraction of a second."""
        self._stopped.set()

    def run(self, scenario: Scenario) -> Result:
        """Runs a scenario, one replication at a time: tasks are what runs in parallel."""
        return marqueue.run(scenario, jobs=1, progress=self._look)

    def run_ns2(self, case: ns2.Case, seed: int) -> ns2.Run:
        """Runs ns-2."""
        return ns2.run(case.ns2_arguments(seed), self._look)

    def _look(self, *_: float) -> None:
        if self._stopped.is_set():
            raise CancelledError


@dataclass(frozen=True)
class Task:
    """Runs that give some checks."""

    name: str
    cost: float
    """CPU time, s, roughly: what the time left is estimated from."""
    checks: Callable[[TaskRunner], Sequence[Check]]


@dataclass(frozen=True)
class Rung:
    """A subject."""

    name: str
    title: str
    about: str
    """What is run, and what a reader must know of the law."""
    tasks: Callable[[Effort], Sequence[Task]]
    missing: Callable[[], str | None] = lambda: None
    """What must be installed first, and how."""
    draw: Callable[[Sequence[Check]], Mapping[str, Figure]] = lambda checks: {}
    """Figures by caption."""
