"""Points as jobs of Slurm, in arrays, by submitit.

submitit asks ``sacct`` which jobs have ended, which knows nothing where Slurm keeps no accounts.
Here ``squeue`` is asked, which every Slurm has.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from marqueue.errors import RunError
from marqueue.extras import require
from marqueue.simulation.cluster.cluster import Died, Ending
from marqueue.simulation.cluster.point_job import PointJob, run_point

ARRAY = 1000
"""Jobs of an array: Slurm's default is fewer than 1001 (MaxArraySize)."""

T = TypeVar("T")

ASK_EVERY = 5.0
"""Seconds between questions to squeue."""

SUSPICIONS = 2
"""Times that a job must be gone without a result before it counts as dead: its file may appear
later on this machine than its end."""

DEFAULTS = {"job_name": "marqueue", "time": 60}
"""Settings of sbatch that can be replaced; ``time`` is in minutes."""


class Slurm:
    """Jobs by sbatch. Their files are in ``folder``, which all machines share."""

    def __init__(self, folder: Path, threads: int, settings: Mapping[str, Any]) -> None:
        require("slurm", "A sweep by Slurm")
        self._folder = folder
        self._executor = self._make_executor({"cpus_per_task": threads, **DEFAULTS, **settings})
        self._jobs: dict[int, Any] = {}
        self._gone: dict[int, int] = {}
        """How often a job was found gone without a result."""
        self._asked = time.monotonic()

    def _make_executor(self, settings: Mapping[str, Any]) -> Any:
        import submitit

        try:
            executor = submitit.SlurmExecutor(self._folder)
            executor.update_parameters(**settings)
        except RuntimeError:
            raise RunError("--on slurm: this machine has no srun, expected one of Slurm") from None
        except ValueError as error:
            raise RunError(f"--cluster: {str(error).splitlines()[0]}") from None
        return executor

    def submit(self, jobs: Mapping[int, PointJob]) -> None:
        """Starts jobs, as arrays where there are several."""
        for some in _batches(list(jobs.items())):
            try:
                started = self._executor.map_array(run_point, [job for _, job in some])
            except subprocess.CalledProcessError as error:
                raise RunError(f"--on slurm: {error.stderr or error}") from None
            self._jobs.update(zip((number for number, _ in some), started, strict=True))

    def wait(self, seconds: float) -> None:
        """Waits for so long: files tell when jobs have ended."""
        time.sleep(seconds)

    def ended(self) -> Mapping[int, Ending]:
        """The jobs that have left a result, and those that are gone without one."""
        names = set(os.listdir(self._folder))
        endings: dict[int, Ending] = {
            number: job.result()
            for number, job in self._jobs.items()
            if job.paths.result_pickle.name in names
        }
        if time.monotonic() - self._asked >= ASK_EVERY:
            self._asked = time.monotonic()
            others = {n: job for n, job in self._jobs.items() if n not in endings}
            there = self._there(others.values())
            for number in [n for n, job in others.items() if job.job_id not in there]:
                self._gone[number] = self._gone.get(number, 0) + 1
                if self._gone[number] >= SUSPICIONS:
                    endings[number] = Died(f"its log is {others[number].paths.stderr}")
        for number in endings:
            del self._jobs[number]
            self._gone.pop(number, None)
        return endings

    def _there(self, jobs: Iterable[Any]) -> set[str]:
        """The jobs that wait or run."""
        known = {job.job_id for job in jobs}
        listed = ",".join(sorted({each.split("_")[0] for each in known}))
        if not listed:
            return set()
        asked = ["squeue", "--noheader", "--array", "--format=%i", f"--jobs={listed}"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
        if said.returncode == 0:
            return set(said.stdout.split())
        # Slurm forgets jobs some minutes after their end. Any other error tells nothing of them.
        return set() if "Invalid job id" in said.stderr else known

    def cancel(self) -> None:
        """Ends all jobs that have not ended."""
        if self._jobs:
            self._cancel(list(self._jobs.values()))
            self._jobs.clear()

    def _cancel(self, jobs: Sequence[Any]) -> None:
        for some in _batches([job.job_id for job in jobs]):
            subprocess.run(["scancel", *some], capture_output=True, check=False)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[i : i + ARRAY] for i in range(0, len(items), ARRAY))
