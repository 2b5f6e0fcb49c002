"""Where a link can have no processor of its own (--realtime strict), it is refused. Where it can:
tests/qemu/test_isolation.py."""

import os
import sys
from pathlib import Path

import pytest

from conftest import COMMAND, called
from small_scenario import SMALL

STRICT = ("--realtime", "strict")
COMMANDS = {
    "link": ("link", "--rate", "1Mbit/s", *STRICT, "--", "true"),
    "live": ("live", "small.toml", *STRICT),
}
NOBODY = ("setpriv", "--reuid", "65534", "--clear-groups")


def has_cpuset() -> bool:
    """Has version 2 of control groups the controller that is needed?"""
    places = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    files = (place / "cgroup.controllers" for place in places)
    return any(file.exists() and "cpuset" in file.read_text().split() for file in files)


def refused(where: Path, *command: str) -> str:
    """The last line of what a command says that is refused, and leaves nothing."""
    (where / "small.toml").write_text(SMALL)
    done = called(where, *command)
    assert done.returncode == 2, done.stderr
    assert os.listdir(where) == ["small.toml"]
    return done.stderr.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="root is refused for another reason")
@pytest.mark.skipif(has_cpuset(), reason="here a processor can be isolated")
@pytest.mark.parametrize("command", COMMANDS)
def test_without_the_controller_it_is_refused(tmp_path: Path, command: str):
    line = refused(tmp_path, *COMMAND, *COMMANDS[command])
    assert line.startswith("--realtime strict: ")
    assert "cgroup" in line


@pytest.mark.parametrize("command", COMMANDS)
def test_another_word_is_refused(tmp_path: Path, command: str):
    words = ("hard" if each == "strict" else each for each in COMMANDS[command])
    line = refused(tmp_path, *COMMAND, *words)
    assert line == '--realtime: got "hard", expected shared or strict'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_to_others_than_root(tmp_path: Path, command: str):
    tmp_path.chmod(0o777)
    if called(tmp_path, *NOBODY, sys.executable, "-c", "import marqueue").returncode:
        pytest.skip("others than root cannot run this interpreter")
    line = refused(tmp_path, *NOBODY, *COMMAND, *COMMANDS[command])
    assert line == "--realtime strict: not root: control groups need it"
