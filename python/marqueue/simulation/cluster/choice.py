"""Which cluster runs the points of a sweep, as a user says it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marqueue.errors import RunError, show
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.cluster.cluster import Cluster, complete
from marqueue.simulation.cluster.point_job import point_jobs
from marqueue.simulation.executor import Progress
from marqueue.simulation.limits import Limits
from marqueue.simulation.sweep_point import SweepPoint

SLURM, RAY = "slurm", "ray"
KINDS = (SLURM, RAY)


@dataclass(frozen=True)
class ClusterChoice:
    """A kind of cluster with its settings."""

    kind: str
    """One of :data:`KINDS`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For Slurm those of sbatch (``partition``, ``time`` in minutes, ``mem``, ...), for Ray
    ``address`` and ``num_cpus``."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RunError(f"--on: got {show(self.kind)}, expected one of {', '.join(KINDS)}")

    @classmethod
    def parse(cls, kind: str, settings: Sequence[str]) -> ClusterChoice:
        """Reads the options --on and --cluster. Raises RunError with what was expected."""
        found: dict[str, Any] = {}
        for text in settings:
            key, equals, value = (part.strip() for part in text.partition("="))
            if not (key and equals and value):
                raise RunError(f"--cluster: got {show(text)}, expected KEY=VALUE")
            found[key] = int(value) if value.isdecimal() else value
        return cls(kind, found)

    def refuse(self, limits: Limits) -> None:
        """Raises RunError for limits of this process, which does not run the points."""
        if limits.max_seconds is not None or limits.max_bytes is not None:
            raise RunError(
                f"--max-time, --max-memory: got one with --on {self.kind}, expected limits of the "
                "jobs such as --cluster time=30 or --cluster mem=4GB (Slurm)"
            )

    def run(
        self,
        points: Sequence[SweepPoint],
        checkpoints: Checkpoints,
        threads: int,
        limits: Limits,
        progress: Progress | None,
    ) -> Generator[int]:
        """Runs points with so many threads each; yields their numbers as their results are
        stored."""
        jobs = point_jobs(points, checkpoints, limits, threads)
        if jobs:
            yield from complete(self._cluster(checkpoints, threads), jobs, progress)

    def _cluster(self, checkpoints: Checkpoints, threads: int) -> Cluster:
        if self.kind == RAY:
            from marqueue.simulation.cluster.ray_tasks import RayTasks

            return RayTasks(threads, self.settings)
        from marqueue.simulation.cluster.slurm import Slurm

        return Slurm(checkpoints.jobs.resolve(), threads, self.settings)
