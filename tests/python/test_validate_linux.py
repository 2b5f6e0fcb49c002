"""The rung of the ladder that holds preset ``linux`` against a kernel."""

from dataclasses import replace
from pathlib import Path

import pytest

import marqueue
from marqueue.scenario import compile
from marqueue.validation import RUNGS, Effort, TaskRunner, climb
from marqueue.validation.linux_cases import CASES, KERNEL
from marqueue.validation.linux_comparison import (
    QUICK,
    TOLERANCES,
    checks,
    compare,
    missing,
    readings,
)
from marqueue.validation.linux_differences import EXPLAINED

BY_NAME = {case.name: case for case in CASES}
SHORT = replace(BY_NAME["cubic, droptail"], warmup=2.0, duration=6.0)


def test_without_a_kernel_the_rung_is_skipped_and_says_how_to_build_one(
    marqueue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ladder = climb([RUNGS["linux"]], Effort.QUICK)
    assert ladder.passed
    assert ladder.verdicts == []
    assert f"marqueue kernel build {KERNEL}" in str(ladder.rungs[0].skipped)
    assert ladder.summary.endswith("skipped: linux")
    asked = marqueue("validate", "--only", "linux")
    assert asked.returncode == 2
    assert f"marqueue kernel build {KERNEL}" in " ".join(asked.stderr.split())


def test_the_two_sides_of_each_case_differ_in_their_stacks_alone():
    for case in CASES:
        model, kernel = (compile(case.scenario(stack)) for stack in ("model", KERNEL))
        [mine], [its] = (plan.pop("transports") for plan in (model, kernel))
        assert model == kernel
        assert "stack" not in mine
        assert its["stack"]["kernel"] == KERNEL
        assert its["stack"]["congestion_control"] == mine["params"]["control"]


def test_names_of_cases_are_unique_and_tables_name_cases_and_figures_that_there_are():
    assert len(BY_NAME) == len(CASES)
    assert set(QUICK) <= set(BY_NAME)
    for name, figure in EXPLAINED:
        assert figure in readings(BY_NAME[name]), (name, figure)
    assert {figure for case in CASES for figure in readings(case)} == set(TOLERANCES)


def test_a_sender_agrees_with_itself_and_not_with_another_law():
    cubic = marqueue.run(SHORT.scenario("model"), jobs=1)
    assert {check.verdict for check in compare(SHORT, cubic, cubic)} == {"pass"}
    reno = replace(SHORT, transport={"control": "reno"})
    beside = list(compare(SHORT, marqueue.run(reno.scenario("model"), jobs=1), cubic))
    apart = {each.what for each in beside if abs(each.distance.mean) > each.tolerance}
    assert "cubic, droptail: mean queue" in apart


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_finite_flow_takes_as_long_as_the_kernel_s():
    [completion, *_] = checks(TaskRunner(), BY_NAME["40 packets, droptail"])
    assert completion.what == "40 packets, droptail: completion"
    assert completion.verdict == "pass"
    # Four round trips for 10, 20, and 10 packets after the handshake.
    assert 160 < completion.target.mean < 200
