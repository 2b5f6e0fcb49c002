"""Rows of flows that leave the engine during a run: results do not depend on it."""

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benches.estimate import command

import marqueue._core as _core
from marqueue import Result, Scenario, from_toml, run, with_overrides
from marqueue.results.many_flows import MANY
from marqueue.results.samples import samples_of
from marqueue.results.subject import Subject, subjects_of
from marqueue.simulation.checkpoints import Checkpoints, Outcome
from marqueue.simulation.experiment import replications_of
from marqueue.simulation.limits import NO_LIMITS
from marqueue.statistics.sketch import ERROR

SCENARIO = """
name = "Rows that leave"
duration = "10 s"
warmup = "2 s"
replications = 1
sample = "1 s"

[topology]
kind = "dumbbell"
rtts = ["20 ms", "60 ms"]

[topology.bottleneck]
rate = "1 Gbit/s"
delay = "1 ms"
buffer = "1000 packets"
aqm = "pie"

[topology.access]
rate = "10 Gbit/s"
delay = "1 ms"

[[traffic]]
name = "long"
kind = "tcp"
count = 20

[[traffic]]
name = "short"
kind = "poisson"
rate = "35000 /s"
size = "1 packet"
"""


DRAWN = 'rtts = ["20 ms", "60 ms"]', 'rtts = { uniform = ["20 ms", "60 ms"] }'


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return from_toml(SCENARIO)


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> Result:
    return run(scenario)


def output(scenario: Scenario, flows_in: Path | None, threads: int = 1) -> Mapping[str, Any]:
    """What the engine gives of the first replication."""
    each = replications_of(scenario, NO_LIMITS)[0]
    return _core.run(each.plan, each.seed, _core.Control(None, flows_in), threads=threads)


def with_output(result: Result, raw: Mapping[str, Any]) -> Result:
    """The result with another output of the engine."""
    return Result.from_raw(result.checked_scenario, result.plan, result.provenance, [raw])


def test_the_files_of_a_result_are_the_same(
    scenario: Scenario, result: Result, tmp_path: Path
) -> None:
    (folder := tmp_path / "flows").mkdir()
    stayed, left = output(scenario, None), output(scenario, folder)
    left_two = output(scenario, folder, threads=2)
    for each in (left, left_two):
        assert isinstance(each["flows"], _core.FlowFile)
        assert len(each["flows"]) == len(stayed["flows"]["start"]) == result.flow_count
    assert not list(folder.iterdir()), "the file has no name"
    saved = [
        with_output(result, raw).save(tmp_path / name)
        for name, raw in (("stayed", stayed), ("left", left), ("left two threads", left_two))
    ]
    for name in ("flows.parquet", "summary.json", "windows.parquet"):
        first, *others = ((directory / name).read_bytes() for directory in saved)
        assert all(other == first for other in others), name


def test_delays_of_single_flows_leave_too(scenario: Scenario, tmp_path: Path) -> None:
    # A delay for each flow, by whose rank its class is divided.
    drawn = from_toml(SCENARIO.replace(*DRAWN))
    result = run(drawn)
    assert result.flows["propagation"].null_count == 0
    assert len(result.flows["class"].unique()) == 4
    left = output(drawn, tmp_path)
    assert left["flows"].layout[2]
    for raw in (left, output(drawn, None)):
        assert with_output(result, raw).flows.equals(result.flows)


def test_parts_are_those_of_the_columns(scenario: Scenario, tmp_path: Path) -> None:
    stayed, left = output(scenario, None)["flows"], output(scenario, tmp_path)["flows"]
    whole = left.columns(0, len(left))
    assert whole.keys() == stayed.keys()
    for name, values in stayed.items():
        assert whole[name].dtype == values.dtype
        np.testing.assert_array_equal(whole[name], values)
        np.testing.assert_array_equal(left.columns(65_000, 66_000)[name], values[65_000:66_000])
    assert len(left.columns(len(left) - 5, len(left) + 5)["start"]) == 5
    assert left.nbytes == len(left.records(0, len(left))) == 68 * len(left)


def test_a_checkpoint_has_them(scenario: Scenario, result: Result, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run.checkpoints")
    replication = replications_of(scenario, NO_LIMITS)[0]
    checkpoints.put(Outcome(replication, output(scenario, tmp_path), 1.5))
    checkpoints.keep()
    resumed = Checkpoints(tmp_path / "run.checkpoints", resume=True)
    found = resumed.find(replication)
    assert found is not None
    assert found.from_checkpoint
    assert isinstance(found.raw["flows"], _core.FlowFile)
    resumed.discard()
    assert not list(tmp_path.iterdir())
    # What was read stays although its file is gone, and can be stored again.
    assert with_output(result, found.raw).flows.equals(result.flows)
    again = Checkpoints(tmp_path / "again.checkpoints")
    again.put(replace(found, from_checkpoint=False))
    again.keep()
    stored = Checkpoints(tmp_path / "again.checkpoints").find(replication)
    assert stored is not None
    assert with_output(result, stored.raw).flows.equals(result.flows)


def test_a_damaged_checkpoint_is_set_aside(scenario: Scenario, tmp_path: Path) -> None:
    said: list[str] = []
    checkpoints = Checkpoints(tmp_path / "run.checkpoints", report=said.append)
    replication = replications_of(scenario, NO_LIMITS)[0]
    checkpoints.put(Outcome(replication, output(scenario, tmp_path), 1.5))
    checkpoints.keep()
    file = tmp_path / "run.checkpoints" / replication.file_name
    with file.open("r+b") as stored:
        stored.seek(10_000_000)
        stored.write(b"damaged")
    found = Checkpoints(tmp_path / "run.checkpoints", report=said.append).find(replication)
    assert found is None
    assert "its content does not match its digest" in said[0]


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    (folder := tmp_path / "here").mkdir()
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    most = 4_000_000
    done = subprocess.run(
        [sys.executable, "-m", "marqueue", "run", str(tmp_path / "scenario.toml"), "-o", "out"],
        # What is beyond the limit is refused as on a full disk.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 2), done.stderr
    assert f"{folder}: cannot be written: File too large" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(folder.iterdir())


def test_samples_of_a_stopping_rule_are_the_figures(scenario: Scenario, tmp_path: Path) -> None:
    raws = [output(scenario, tmp_path)]
    wanted = [each for each in subjects_of(scenario) if each.kind != "link"]
    assert Subject("group", "short") in wanted
    exact, sums = (samples_of(scenario, raws, wanted, before) for before in (0, MANY))
    for subject in wanted:
        for name, figure in subject.figures.items():
            found, expected = (figure.estimate(each[subject], 0.95).mean for each in (sums, exact))
            tolerance = ERROR if name in ("fct_median", "fct_p95", "fct_p99") else 1e-12
            assert found == pytest.approx(expected, rel=tolerance, nan_ok=True), (subject, name)


def test_a_stopping_rule_reads_very_many_flows(scenario: Scenario) -> None:
    few = with_overrides(scenario, ["duration=5 s", "warmup=1 s"])
    stopped = run(few, until=["fct_mean ±20%"], replications=6)
    assert stopped.replications == 4
    assert stopped.flow_count > MANY
    assert stopped.provenance.stopping is not None
    assert stopped.provenance.stopping["met"]


@pytest.mark.parametrize("together", [1, 2, 4096])
def test_the_table_of_figures_has_those_of_each_group_and_class(
    scenario: Scenario, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorter = with_overrides(scenario, ["duration=3 s", "warmup=1 s"])
    few = run(shorter)
    monkeypatch.setattr("marqueue.results.result.MANY", few.flow_count - 1)
    many = run(shorter)
    assert few.many_flows is None
    assert many.many_flows is not None
    monkeypatch.setattr("marqueue.results.data.MOST_TOGETHER", together)
    for each in (few, many):
        rows = each.figures().to_pylist()
        named = [(None, None), ("long", None), ("short", None), (None, "20 ms"), (None, "60 ms")]
        for group, class_ in named:
            of = {
                row["figure"]: row["value"]
                for row in rows
                if (row["link"], row["group"], row["class"]) == (None, group, class_)
            }
            for name, estimate in each.traffic(group=group, class_=class_).items():
                assert of[name] == (estimate.mean if estimate.n else None), (group, class_, name)


def test_memory_of_very_many_flows_is_predicted(tmp_path: Path) -> None:
    (file := tmp_path / "scenario.toml").write_text(SCENARIO)
    many = [
        str(file),
        "--set",
        "traffic.short.rate=70000 /s",
        "--set",
        "topology.bottleneck.rate=2 Gbit/s",
    ]
    printed, *_ = command(*many, "--estimate", "--json")
    _, taken, _ = command(*many, "--no-report", "-o", str(tmp_path / "out"))
    assert json.loads(printed)["memory"] == pytest.approx(taken, rel=0.2)
