"""Sweeps on a real Slurm of one node (``make test-slurm``), which node.sh starts."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cluster_sweeps import OVER, SHORT, mortal, same_as_here
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.sweep import sweep
from small_scenario import SMALL


def jobs() -> str:
    """The jobs of Slurm that wait or run."""
    asked = ["squeue", "--noheader", "--states=PENDING,RUNNING"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def test_a_process_that_dies_costs_one_point(tmp_path: Path) -> None:
    same_as_here(ClusterChoice("slurm", {"time": 5}), tmp_path)


def test_an_interrupt_ends_the_jobs(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(done: float, total: float) -> None:
        if jobs():
            raise Stop

    scenario, _ = mortal(tmp_path, once=False)
    with suppress(Stop):
        sweep(scenario, [OVER], tmp_path / "out", on=ClusterChoice("slurm"), progress=stop)
    # scancel returns before the jobs have ended.
    for _ in range(100):
        if not jobs():
            break
        subprocess.run(["sleep", "0.2"], check=True)
    assert not jobs()
    assert not (tmp_path / "out").exists()


def command(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """The command with a sweep of two points by Slurm."""
    sets = [part for each in SHORT for part in ("--set", each)]
    over = ("--over", "traffic.long.count=2,6", *sets, "-o", "out", "--no-report")
    words = [sys.executable, "-m", "marqueue", "sweep", "small.toml", *over, "--on", "slurm"]
    return subprocess.run(
        [*words, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_the_command_runs_an_array(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = command("--cluster", "time=5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    refused = command("--force", "--cluster", "x=5", cwd=tmp_path)
    assert refused.returncode == 2
    assert "Unavailable parameter" in refused.stderr
