"""A point of a sweep: its experiment, and the directory in the checkpoints that gets its result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marqueue.errors import ResultError, RunError, differing_values
from marqueue.programs.registry import sources
from marqueue.results.integrity import Fault, check_directory, read_provenance
from marqueue.results.output_directory import staging_directory
from marqueue.results.output_file import unwritable
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.experiment import Experiment, replications_of
from marqueue.simulation.limits import Limits
from marqueue.units import Duration

if TYPE_CHECKING:
    from marqueue.results import Result

_FOUND_BY_RUNNING = {"warmup", "replications"}
"""Keys that may differ between the scenario of a result and the requested one."""


@dataclass(frozen=True)
class SweepPoint:
    """A point, from its number to its directory."""

    number: int
    experiment: Experiment
    directory: Path

    @cached_property
    def programs(self) -> dict[str, str]:
        """The sources of the user's programs in Python that it runs, by file."""
        return sources(self.experiment.scenario.to_dict())

    def is_completed(self, checkpoints: Checkpoints) -> bool:
        """Whether its result is complete. A damaged result is set aside.

        Raises RunError if it contains files that marqueue did not write.
        """
        if not self.directory.exists():
            return False
        try:
            findings = check_directory(self.directory)
            if foreign := [str(each) for each in findings if each.fault is Fault.FOREIGN]:
                raise RunError(
                    f"{self.directory}: {foreign[0]}, expected only the result of a point"
                )
            if findings:
                raise ResultError(f"{self.directory}: damaged: {findings[0]}")
            found = read_provenance(self.directory)["scenario"]
            expected = json.loads(json.dumps(self.experiment.scenario.to_dict()))
            differ = differing_values(found, expected)
            if {path for path, _, _ in differ} - _FOUND_BY_RUNNING:
                raise ResultError(f"{self.directory}: the result of another point")
        except ResultError as error:
            checkpoints.set_aside_point(self.directory, str(error))
            return False
        return True

    def store(self, result: Result, limits: Limits, checkpoints: Checkpoints) -> None:
        """Writes its result, and removes the checkpoints that are in it. The directory appears
        whole or not at all. It is not flushed to the disk: who stores it may have another to run.
        """
        checkpoints.begin()
        try:
            with staging_directory(self.directory) as fresh:
                # Without a report, which can take longer than the run; the sweep has one.
                result.write_files(fresh)
                fresh.rename(self.directory)
        except OSError as error:
            raise unwritable(self.directory, error) from None
        for run in (self.experiment.pilot, self._run_of(result)):
            checkpoints.forget(replications_of(run, limits) if run else ())

    def _run_of(self, result: Result) -> Scenario:
        """The scenario with what running it has found."""
        found: dict[str, Any] = {"replications": result.scenario["replications"]}
        if self.experiment.pilot:
            found["warmup"] = Duration.parse(result.scenario["warmup"])
        return self.experiment.scenario.model_copy(update=found)
