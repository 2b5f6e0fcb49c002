"""A class in Python in place of the AQM of a design: ``marqueue design ... --program``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from test_programs import PI2

LINK = ["--capacity", "10Mbit/s", "--flows", "10", "--rtt", "60ms"]

# PI2 with its gains as parameters.
GAINS = (
    PI2.replace(
        '    rtt_max = marqueue.parameter("100 ms", "Longest", at_least="1 us", at_most="100 s")\n',
        '    t_update = marqueue.parameter("16 ms", "Period", at_least="1 us", at_most="1 s")\n'
        '    alpha = marqueue.parameter("0.16 /s", "Integral gain", at_least="0 /s")\n'
        '    beta = marqueue.parameter("3.2 /s", "Proportional gain", at_least="0 /s")\n',
    )
    .replace("    t_update = alpha = beta = 0.0\n", "")
    .replace(
        "        self.t_update = min(self.target, self.rtt_max / 3)\n"
        "        self.alpha = 0.1 * self.t_update / (self.rtt_max * self.rtt_max)\n"
        "        self.beta = 0.3 / self.rtt_max\n",
        "",
    )
)

STRANGER = '''
import marqueue


@marqueue.aqm
class Stranger:
    """Has a parameter that no design has."""

    patience = marqueue.parameter(1.0, "Of nobody")

    def on_arrival(self, packet, queue, now):
        return marqueue.PASS
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(GAINS, encoding="utf-8")
    (tmp_path / "stranger.py").write_text(STRANGER, encoding="utf-8")
    return tmp_path


def designed(aqm: str, *more: str) -> str:
    found = CliRunner().invoke(app, ["design", aqm, *LINK, "--packets", *more])
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.usefixtures("folder")
def test_the_same_law_in_python_gives_the_same_packets() -> None:
    builtin = json.loads(designed("pi2", "--json"))
    own = json.loads(designed("pi2", "--json", "--program", "python:mine.py:Pi2"))
    assert own["packets"].pop("program") == "python:mine.py:Pi2"
    assert builtin["packets"].pop("program") is None
    assert own == builtin


@pytest.mark.usefixtures("folder")
def test_a_design_by_rules_takes_one_too() -> None:
    """CoDel's target goes to a class with a parameter of this name."""
    text = designed("codel", "--program", "python:mine.py:Pi2")
    assert "Simulated with python:mine.py:Pi2 in place of" in text


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "design pi2 --capacity 10Mbit/s --flows 10 --rtt 60ms --program python:mine.py:Pi2",
            "--program: expected --packets beside it",
        ),
        (
            "design pi2 --capacity 10Mbit/s --flows 10 --rtt 60ms --packets --program pi2",
            "--program: got",
        ),
        (
            "design pi2 --capacity 10Mbit/s --flows 10 --rtt 60ms --packets "
            "--program python:stranger.py:Stranger",
            "--program: python:stranger.py:Stranger has none of the designed parameters, expected "
            "some of target, t_update, alpha, beta",
        ),
        (
            "design mkc --capacity 10Mbit/s --flows 20 --delay 4 --loss 0.01 --packets "
            "--program python:mine.py:Pi2",
            "--program: expected the design of an AQM for TCP at one link",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(marqueue, folder: Path, command: str, expected: str):
    found = marqueue(*command.split())
    assert found.returncode == 2
    assert expected in " ".join(found.stderr.split())
