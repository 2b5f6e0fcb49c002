"""Points as tasks of Ray: of a cluster that runs, or of processes of this machine."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from marqueue.errors import RunError
from marqueue.extras import require
from marqueue.simulation.cluster.cluster import Died, Ending
from marqueue.simulation.cluster.point_job import PointJob, run_point

KNOWN = ("address", "num_cpus")


class RayTasks:
    """Tasks of Ray. ``settings`` are ``address`` of a cluster (by default that of RAY_ADDRESS;
    without one, Ray runs on this machine) and ``num_cpus`` that it uses here."""

    def __init__(self, threads: int, settings: Mapping[str, Any]) -> None:
        require("ray", "A sweep by Ray")
        for key in settings:
            if key not in KNOWN:
                raise RunError(f"--cluster: got {key}, expected one of {', '.join(KNOWN)}")
        import ray

        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            try:
                ray.init(log_to_driver=False, logging_level=logging.WARNING, **settings)
            except (ConnectionError, ValueError, TypeError) as error:
                raise RunError(f"--on ray: {error}") from None
        # Attempts are counted in one place, for all clusters.
        self._remote = ray.remote(num_cpus=threads, max_retries=0)(run_point)
        self._tasks: dict[Any, int] = {}

    def submit(self, jobs: Mapping[int, PointJob]) -> None:
        """Starts jobs."""
        self._tasks.update({self._remote.remote(job): number for number, job in jobs.items()})

    def wait(self, seconds: float) -> None:
        """Waits until a job has ended, at most for so long."""
        if self._tasks:
            self._ray.wait(list(self._tasks), num_returns=1, timeout=seconds)

    def ended(self) -> Mapping[int, Ending]:
        """The jobs that have ended since the last call."""
        waiting = list(self._tasks)
        if not waiting:
            return {}
        ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return {self._tasks.pop(task): self._ending(task) for task in ready}

    def _ending(self, task: Any) -> Ending:
        errors = self._ray.exceptions
        try:
            ending: Ending = self._ray.get(task)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as died:
            return Died(str(died))
        return ending

    def cancel(self) -> None:
        """Ends all jobs that have not ended, and Ray if it was started here."""
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks.clear()
        if self._started:
            self._ray.shutdown()
