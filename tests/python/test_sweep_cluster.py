"""Sweeps whose points are jobs in other processes. tests/slurm has those of a real Slurm."""

from pathlib import Path

import pytest

from cluster_sweeps import OVER, SHORT, Processes, files, mortal, same_as_here
from marqueue import load
from marqueue.errors import BrokenProgram, RunError
from marqueue.simulation.cluster import cluster, slurm
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.limits import Limits
from marqueue.simulation.sweep import sweep
from small_scenario import SMALL

JOBS = ClusterChoice("slurm")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are processes of this machine."""
    monkeypatch.setattr(slurm, "Slurm", Processes)
    monkeypatch.setattr(slurm, "ASK_EVERY", 0.0)


@pytest.mark.usefixtures("processes")
def test_a_process_that_dies_costs_one_point(tmp_path: Path) -> None:
    same_as_here(JOBS, tmp_path)


@pytest.mark.usefixtures("processes")
def test_a_sweep_continues_from_the_points_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ATTEMPTS", 1)
    scenario, marker = mortal(tmp_path, once=False)
    out = tmp_path / "out"
    with pytest.raises(RunError, match=r"points 2: their processes ended 1 times .*its log is"):
        sweep(scenario, [OVER], out, on=JOBS)
    assert not out.exists()
    assert [each.name for each in (tmp_path / "out.checkpoints/points").iterdir()] == ["1"]
    marker.touch()
    sweep(scenario, [OVER], out, resume=True)
    sweep(scenario, [OVER], tmp_path / "here")
    assert files(out) == files(tmp_path / "here")


@pytest.mark.usefixtures("processes")
def test_a_program_that_raises_is_told_with_its_point(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import marqueue\n@marqueue.aqm\nclass Bad:\n"
        "    x = marqueue.parameter(0)\n"
        "    def on_arrival(self, packet, queue, now): return 1 / self.x\n"
    )
    (tmp_path / "small.toml").write_text(SMALL)
    scenario = load(tmp_path / "small.toml", ["topology.bottleneck.aqm=python:mine.py:Bad", *SHORT])
    with pytest.raises(BrokenProgram, match=r"(?s)point 1: .*ZeroDivisionError"):
        sweep(scenario, ["topology.bottleneck.aqm.x=0"], tmp_path / "out", on=JOBS)


def test_ray_runs_points(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    same_as_here(ClusterChoice("ray", {"num_cpus": 2}), tmp_path)


@pytest.mark.parametrize(
    ("on", "settings", "said"),
    [
        ("pbs", [], '--on: got "pbs", expected one of slurm, ray'),
        ("slurm", ["time"], '--cluster: got "time", expected KEY=VALUE'),
    ],
)
def test_options_are_checked(on: str, settings: list[str], said: str) -> None:
    with pytest.raises(RunError) as raised:
        ClusterChoice.parse(on, settings)
    assert str(raised.value) == said


def test_limits_of_this_process_are_refused() -> None:
    with pytest.raises(RunError, match="expected limits of the jobs"):
        JOBS.refuse(Limits(max_seconds=10.0))
