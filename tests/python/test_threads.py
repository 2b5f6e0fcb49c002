"""One run on several threads: the same bytes, and a word where that cannot be."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import marqueue
from conftest import EXAMPLES
from marqueue import _core
from marqueue.cli import app
from marqueue.scenario import compile, load

PATHS = {path.stem: path for path in EXAMPLES if not path.stem.startswith("linux-")}
"""Example scenarios without kernels."""

LONGEST = 4_000_000_000
"""Nanoseconds of each scenario that are run."""


def shortened(path: Path) -> str:
    """The plan of a scenario, cut off."""
    plan = compile(load(path))
    plan["duration"] = min(plan["duration"], LONGEST)
    plan["boundaries"] = [edge for edge in plan["boundaries"] if edge < plan["duration"]]
    return json.dumps(plan)


@pytest.mark.parametrize("name", PATHS)
def test_a_scenario_gives_the_same_on_any_number_of_threads(name: str) -> None:
    plan = shortened(PATHS[name])
    assert len({_core.digest(plan, 1, threads=threads) for threads in (1, 2, 3, 4)}) == 1


def test_enough_scenarios_have_several_threads() -> None:
    plans = [shortened(PATHS[name]) for name in ("star", "parking-lot", "mkc")]
    assert [_core.threads_for(plan, 4) for plan in plans] == [(4, None)] * 3


def test_threads_do_not_change_a_result_and_are_refused_with_a_reason(tmp_path: Path) -> None:
    scenario = marqueue.load(PATHS["parking-lot"])
    alone, together = (
        marqueue.run(scenario, replications=1, jobs=1, threads=threads) for threads in (1, 2)
    )
    assert alone.summary() == together.summary()
    line = ["run", str(PATHS["first"]), "--threads", "2", "--out", str(tmp_path / "first")]
    told = CliRunner().invoke(app, line)
    assert told.exit_code == 0
    assert "one thread, since some flows have a size or a stop time" in told.stderr


def test_few_packets_between_two_meetings_do_not_pay() -> None:
    assert _core.threads_that_pay(shortened(PATHS["parking-lot"]), 2) == 1
