"""Rungs of the ladder: lists of tasks that can run in parallel."""

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
    """The form of the ladder: quick or full."""

    FULL = "full"
    QUICK = "quick"

    def pick(self, full: T, quick: T) -> T:
        """The value for this form."""
        return full if self is Effort.FULL else quick


class TaskRunner:
    """Runs simulations of tasks so that they can be stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stops all running simulations within a fraction of a second."""
        self._stopped.set()

    def run(self, scenario: Scenario) -> Result:
        """Runs a scenario, one replication at a time, because tasks are what runs in parallel."""
        return marqueue.run(scenario, jobs=1, progress=self._look)

    def run_ns2(self, case: ns2.Case, seed: int) -> ns2.Run:
        """Runs ns-2."""
        return ns2.run(case.ns2_arguments(seed), self._look)

    def _look(self, *_: float) -> None:
        if self._stopped.is_set():
            raise CancelledError


@dataclass(frozen=True)
class Task:
    """Simulations that give some checks."""

    name: str
    cost: float
    """Approximate CPU time, s, for the estimate of the remaining time."""
    checks: Callable[[TaskRunner], Sequence[Check]]


@dataclass(frozen=True)
class Rung:
    """A subject."""

    name: str
    title: str
    about: str
    """Description of the simulations and of the law's assumptions."""
    tasks: Callable[[Effort], Sequence[Task]]
    missing: Callable[[], str | None] = lambda: None
    """The missing program, with how to install it; None if there is none."""
    draw: Callable[[Sequence[Check]], Mapping[str, Figure]] = lambda checks: {}
    """Figures by caption."""
