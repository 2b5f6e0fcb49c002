"""What `make bench-regression` calls slower, and which mistakes it names."""

import subprocess
import sys
from pathlib import Path

import pytest
from benches.cli import Middle
from benches.regression import Comparison, judgement

ROOT = Path(__file__).parents[2]
FASTER, SAME, NEAR, SLOWER = (
    Middle(0.9, 0.88, 0.93),
    Middle(1.0, 0.98, 1.02),
    Middle(1.02, 0.99, 1.05),
    Middle(1.06, 1.03, 1.1),
)


@pytest.mark.parametrize("time", [FASTER, SAME])
def test_less_than_the_limit_is_not_slower(time: Middle):
    lines, code = judgement([Comparison("i", (1000.0, 1029.0), time), Comparison("ii", None, time)])
    assert (lines, code) == (["no scenario is 3 % slower"], 0)


def test_instructions_alone_show_a_regression():
    lines, code = judgement(
        [Comparison("i", (1000.0, 1030.0), FASTER), Comparison("ii", (1000.0, 900.0), SAME)]
    )
    assert (lines, code) == (["slower: i: 3.0% more instructions"], 1)


def test_the_whole_interval_of_the_time_shows_a_regression():
    lines, code = judgement([Comparison("i", (1000.0, 1000.0), SLOWER)])
    assert (lines, code) == (["slower: i: 1.06 (1.03 to 1.10) times the CPU time"], 1)


def test_an_interval_on_both_sides_of_the_limit_decides_nothing():
    lines, code = judgement([Comparison("i", None, NEAR), Comparison("ii", None, SAME)])
    assert (lines, code) == (["undecided: i: 1.02 (0.99 to 1.05) times the CPU time"], 0)


def test_what_is_slower_is_named_last():
    compared = [Comparison("i", None, SLOWER), Comparison("ii", None, NEAR)]
    lines, code = judgement(compared)
    assert [line.split(":")[:2] for line in lines] == [["undecided", " ii"], ["slower", " i"]]
    assert code == 1
    assert [each.cells()[-1] for each in compared] == ["yes", "undecided"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--base", "no-such-commit"],
            "BASE: got no-such-commit, expected a commit of this repository",
        ),
        (["--pairs", "5"], "--pairs: got 5, expected at least 6"),
    ],
)
def test_a_mistake_has_one_line(given: list[str], message: str):
    done = subprocess.run(
        [sys.executable, "-m", "benches.regression", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", f"{message}\n", 2)
