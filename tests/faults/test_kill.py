"""SIGKILL at file operations and at random moments of run, sweep, paper run and replacement.

Afterwards there is the old output or the new one, whole, or none; a user's files are untouched; and
the next start completes the work.
"""

import random
import shutil
import time
from pathlib import Path

import pytest

from forked import (
    Child,
    assert_users_files_are_there,
    assert_whole_or_absent,
    seed_of,
    temporary,
    trials,
)

RUN = ("run", "faults.toml", "--seed", "2", "-o", "out")
SWEEP = ("sweep", "faults.toml", "--seed", "2", "--over", "traffic.long.count=2,3", "-o", "out")
PAPER = ("paper", "run", "avq", "3", "--quick", "-o", "out")
KINDS = {"run": RUN, "sweep": SWEEP, "paper": PAPER}


def complete(folder: Path, arguments: tuple[str, ...]) -> None:
    """Restarts after a kill: the work is completed, and only temporary files may be left."""
    last = Child(folder, *arguments, "--resume").wait()
    if last.code == 2:
        # Killed after the output was in its place.
        assert "out: holds a result (--force replaces it)" in last.said
    else:
        assert last.code == 0, last.said
        assert not (folder / "out.checkpoints").exists()
    assert (folder / "out").exists()
    assert not (folder / ".out.lock").exists()
    for name in temporary(folder):
        assert last.code == 2 or name in last.said
        shutil.rmtree(folder / name)


def reset(folder: Path, *, old: Path | None = None) -> None:
    """Removes the files of a trial, and restores an old result if one is given."""
    for name in ("out", "out.checkpoints"):
        shutil.rmtree(folder / name, ignore_errors=True)
    if old is not None:
        shutil.copytree(old, folder / "out")


@pytest.fixture
def old(folder: Path, tmp_path: Path) -> Path:
    """The result of a run with seed 1."""
    assert Child(folder, "run", "faults.toml", "--seed", "1", "-o", "out").wait().code == 0
    return Path(shutil.move(folder / "out", tmp_path / "old"))


@pytest.mark.parametrize("kind", KINDS)
def test_killed_before_a_file_operation(folder: Path, kind: str):
    arguments = KINDS[kind]
    whole = Child(folder, *arguments).wait()
    assert whole.code == 0, whole.said
    reset(folder)
    operations = whole.operations
    assert operations > 20
    few = {"run": 12, "sweep": 6, "paper": 2}[kind]
    chosen = random.Random(1).sample(range(1, operations + 1), min(trials(few), operations))
    for number in chosen:
        assert Child(folder, *arguments, kill_before=number).wait().code in (-9, 0)
        assert_users_files_are_there(folder)
        assert_whole_or_absent(folder / "out")
        complete(folder, arguments)
        assert_users_files_are_there(folder)
        reset(folder)


def test_killed_before_a_file_operation_of_a_replacement(folder: Path, old: Path):
    arguments = (*RUN, "--force")
    reset(folder, old=old)
    operations = Child(folder, *arguments).wait().operations
    chosen = random.Random(2).sample(range(1, operations + 1), min(trials(15), operations))
    seeds = set()
    for number in chosen:
        reset(folder, old=old)
        assert Child(folder, *arguments, kill_before=number).wait().code in (-9, 0)
        assert_users_files_are_there(folder)
        seed = seed_of(folder / "out")
        assert seed in (1, 2)
        seeds.add(seed)
        # The next start replaces it.
        last = Child(folder, *arguments).wait()
        assert last.code == 0, last.said
        assert seed_of(folder / "out") == 2
        for name in temporary(folder):
            assert name in last.said
            shutil.rmtree(folder / name)
    if trials(15) >= operations:
        assert seeds == {1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_a_random_moment(folder: Path, kind: str):
    arguments = KINDS[kind]
    started = Child(folder, *arguments)
    assert started.wait().code == 0
    seconds = time.monotonic() - started.began
    reset(folder)
    generator = random.Random(3)
    few = {"run": 8, "sweep": 4, "paper": 1}[kind]
    for _ in range(trials(few)):
        child = Child(folder, *arguments)
        ended = child.kill_after(generator.uniform(0, seconds)).wait()
        assert ended.code in (-9, 0), ended.said
        assert_users_files_are_there(folder)
        complete(folder, arguments)
        reset(folder)


def test_replacements_killed_at_a_random_moment(folder: Path, old: Path):
    arguments = (*RUN, "--force")
    generator = random.Random(4)
    for _ in range(trials(8)):
        reset(folder, old=old)
        Child(folder, *arguments).kill_after(generator.uniform(0, 0.6)).wait()
        assert_users_files_are_there(folder)
        assert seed_of(folder / "out") in (1, 2)
        for name in temporary(folder):
            if name != ".out.lock":
                shutil.rmtree(folder / name)
