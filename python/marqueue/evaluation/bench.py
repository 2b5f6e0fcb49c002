"""Where the scenarios of a suite run: in the simulator, or on a live link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.simulation.run import run_each

Progress = Callable[[float, float], None]
"""Receives the completed and the total seconds of the scenarios."""


@dataclass(frozen=True)
class Bench:
    """What runs scenarios."""

    name: str
    """For reports: ``simulated`` or ``live``."""
    run: Callable[[Sequence[Scenario], int | None, Progress | None], list[Result]]
    """Runs scenarios, as many at a time as the second argument says."""
    prepared: Callable[[Scenario], Scenario] = lambda scenario: scenario
    """The form of a scenario that runs here."""
    refusal: Callable[[Scenario], str] = lambda scenario: ""
    """Why a prepared scenario cannot run here; empty if it can."""
    complaint: Callable[[Result], str] = lambda result: ""
    """Why a result decides nothing; empty if it does."""


SIMULATED = Bench(
    "simulated",
    lambda scenarios, jobs, progress: run_each(scenarios, jobs=jobs, progress=progress),
)
