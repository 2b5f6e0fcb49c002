"""Sweeps whose points are jobs in other processes. tests/slurm has those of a real Slurm."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import marqueue.simulation.sweep as sweeps
from cluster_sweeps import OVER, SHORT, LocalJobs, files, mortal, same_as_here
from marqueue import load
from marqueue.errors import BrokenProgram, RunError
from marqueue.simulation.cluster import cluster, slurm
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.limits import Limits
from marqueue.simulation.sweep import sweep
from small_scenario import SMALL

JOBS = ClusterChoice("slurm")


@pytest.fixture
def local_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of Slurm are processes of this machine."""
    monkeypatch.setattr(slurm, "Slurm", LocalJobs)
    monkeypatch.setattr(slurm, "ASK_EVERY", 0.0)


@pytest.mark.usefixtures("local_jobs")
def test_a_process_that_dies_costs_one_point(tmp_path: Path) -> None:
    same_as_here(JOBS, tmp_path)


@pytest.mark.usefixtures("local_jobs")
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


@pytest.mark.usefixtures("local_jobs")
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


def test_many_points_in_processes_are_those_of_threads(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    scenario = load(tmp_path / "small.toml", SHORT)
    sizes = ",".join(f"{10 + n} packets" for n in range(2 * sweeps.POINTS_A_PROCESS))
    for jobs in (2, 1):
        sweep(scenario, [f"topology.bottleneck.buffer={sizes}"], tmp_path / str(jobs), jobs=jobs)
    assert files(tmp_path / "2") == files(tmp_path / "1")


def test_points_with_programs_run_in_processes(tmp_path: Path) -> None:
    scenario, marker = mortal(tmp_path, once=True)
    sweep(scenario, [OVER], tmp_path / "processes", jobs=2)
    assert marker.exists(), "one process died, and its point ran again"
    sweep(scenario, [OVER], tmp_path / "threads", jobs=1)
    assert files(tmp_path / "processes") == files(tmp_path / "threads")
    assert not (tmp_path / "processes.checkpoints").exists()


def test_points_run_on_when_the_fork_server_dies(tmp_path: Path) -> None:
    scenario, marker = mortal(tmp_path, once=True, and_parent=True)
    sizes = ",".join(f"{10 + n} packets" for n in range(3))
    axes = [OVER, f"topology.bottleneck.buffer={sizes}"]
    sweep(scenario, axes, tmp_path / "processes", jobs=2)
    assert marker.exists(), "a process died, and the server that had forked it"
    sweep(scenario, axes, tmp_path / "threads", jobs=1)
    assert files(tmp_path / "processes") == files(tmp_path / "threads")


def test_processes_that_die_each_time_are_told(tmp_path: Path) -> None:
    scenario, marker = mortal(tmp_path, once=False)
    out = tmp_path / "out"
    with pytest.raises(RunError, match=r"points 2: their processes ended 3 times .* by SIGKILL"):
        sweep(scenario, [OVER], out, jobs=2)
    assert not out.exists()
    marker.touch()
    assert len(sweep(scenario, [OVER], out, jobs=2, resume=True).points) == 2


def test_points_behind_one_that_dies_run(tmp_path: Path) -> None:
    scenario, _ = mortal(tmp_path, once=False)
    sizes = ",".join(f"{10 + n} packets" for n in range(5))
    axes = [f"topology.bottleneck.buffer={sizes}", OVER]
    with pytest.raises(RunError, match=r"points 2, 4, 6, 8, 10: their processes ended 3 times"):
        sweep(scenario, axes, tmp_path / "out", jobs=2)
    stored = {each.name for each in (tmp_path / "out.checkpoints/points").iterdir()}
    assert stored == {"01", "03", "05", "07", "09"}


def test_a_program_that_raises_in_a_process_is_told_with_its_point(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import marqueue\n@marqueue.aqm\nclass Bad:\n"
        "    x = marqueue.parameter(0)\n"
        "    def on_arrival(self, packet, queue, now): return 1 / 0\n"
    )
    (tmp_path / "small.toml").write_text(SMALL)
    scenario = load(tmp_path / "small.toml", ["topology.bottleneck.aqm=python:mine.py:Bad", *SHORT])
    with pytest.raises(BrokenProgram, match=r"(?s)point [12]: .*ZeroDivisionError"):
        sweep(scenario, ["topology.bottleneck.aqm.x=0,1"], tmp_path / "out", jobs=2)


ENDLESS = """
import os, marqueue

@marqueue.aqm
class Endless:
    x = marqueue.parameter(0)

    def on_arrival(self, packet, queue, now):
        os.write(1, b"%d\\n" % os.getpid())
        while True:
            pass
"""


def test_processes_end_with_the_program_that_began_them(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENDLESS)
    (tmp_path / "small.toml").write_text(SMALL)
    command = [
        *(sys.executable, "-m", "marqueue", "sweep", "small.toml", "--jobs=2"),
        *("--set", "topology.bottleneck.aqm=python:mine.py:Endless"),
        *("--over", "topology.bottleneck.aqm.x=0,1"),
    ]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        processes = [os.pidfd_open(int(begun.stdout.readline())) for _ in range(2)]
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        for each in processes:
            ended, _, _ = select.select([each], [], [], 60)
            assert ended, "a process goes on without the program that began it"
            os.close(each)


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
