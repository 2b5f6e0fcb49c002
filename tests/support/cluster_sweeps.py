"""Sweeps on clusters, for tests: a program that kills its process, and local processes as jobs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue import load
from marqueue.scenario import Scenario
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.cluster.slurm import Slurm
from marqueue.simulation.sweep import sweep
from small_scenario import SMALL

MORTAL = '''
import os, signal
import marqueue

@marqueue.aqm
class Mortal:
    """Passes every packet, in a process that dies of the first until a file is there."""
    deadly = marqueue.parameter(False, "Whether the process dies")

    def on_arrival(self, packet, queue, now):
        if self.deadly and not os.path.exists({marker!r}):
            {first}
            os.kill(os.getpid(), signal.SIGKILL)
        return marqueue.PASS
'''
OVER = "topology.bottleneck.aqm.deadly=false,true"
SHORT = ("replications=2", "duration=1.5 s", "warmup=500 ms")


def mortal(folder: Path, *, once: bool, and_parent: bool = False) -> tuple[Scenario, Path]:
    """A scenario for :data:`OVER`, one point of which kills its process, and the parent of that if
    asked: once, or until the file is there that is returned."""
    marker = folder / "survive"
    first = f"open({str(marker)!r}, 'w').close()" if once else "pass"
    if and_parent:
        first += "; os.kill(os.getppid(), signal.SIGKILL)"
    (folder / "mine.py").write_text(MORTAL.format(marker=str(marker), first=first))
    (folder / "small.toml").write_text(SMALL)
    aqm = "topology.bottleneck.aqm=python:mine.py:Mortal"
    return load(folder / "small.toml", [aqm, *SHORT]), marker


def files(directory: Path) -> Mapping[str, bytes]:
    """What a sweep has written, without the machine and the time."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "circumstances.json"
    }


def same_as_here(choice: ClusterChoice, folder: Path) -> None:
    """Runs a sweep on a cluster, one process of which dies, and here, and compares all bytes."""
    scenario, marker = mortal(folder, once=True)
    sweep(scenario, [OVER], folder / "there", on=choice)
    assert marker.exists()
    sweep(scenario, [OVER], folder / "here")
    assert files(folder / "there") == files(folder / "here")
    assert not (folder / "there.checkpoints").exists()


class LocalJobs(Slurm):
    """Jobs by submitit as those of Slurm, which are processes of this machine."""

    def _make_executor(self, settings: Mapping[str, Any]) -> Any:
        import submitit

        return submitit.LocalExecutor(self._folder)

    def _there(self, jobs: Iterable[Any]) -> set[str]:
        return {job.job_id for job in jobs if not job.done()}

    def _cancel(self, jobs: Sequence[Any]) -> None:
        for job in jobs:
            job.cancel()
