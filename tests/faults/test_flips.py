"""Single flipped bits in results and checkpoints: each is detected, and its file is named."""

import random
import shutil
from pathlib import Path

import pytest

from forked import Child, trials
from marqueue.errors import ResultError
from marqueue.results.integrity import check_directory
from marqueue.scenario import load
from marqueue.simulation.checkpoints import Checkpoints, Replication
from marqueue.simulation.experiment import replications_of
from marqueue.simulation.limits import NO_LIMITS


def flip(path: Path, generator: random.Random) -> bytes:
    """Flips a random bit of a file. Returns what it was."""
    before = path.read_bytes()
    after = bytearray(before)
    after[generator.randrange(len(before))] ^= 1 << generator.randrange(8)
    path.write_bytes(after)
    return before


def test_every_flip_in_a_result_is_named(folder: Path):
    arguments = ("sweep", "faults.toml", "--over", "traffic.long.count=2,3", "-o", "out")
    assert Child(folder, *arguments).wait().code == 0
    assert Child(folder, "run", "faults.toml", "-o", "run").wait().code == 0
    files = [each for top in ("out", "run") for each in sorted((folder / top).rglob("*"))]
    files = [each for each in files if each.is_file()]
    generator = random.Random(5)
    for number in range(trials(200, of_each=10)):
        # Each file in turn, so that small ones are not left out.
        path = files[number % len(files)]
        top = folder / path.relative_to(folder).parts[0]
        before = flip(path, generator)
        name = str(path.relative_to(top))
        if name == "provenance.json":
            with pytest.raises(ResultError, match=r"provenance\.json: damaged"):
                check_directory(top)
        else:
            assert name in [finding.path for finding in check_directory(top)]
        path.write_bytes(before)
    assert check_directory(folder / "out") == check_directory(folder / "run") == []


def test_every_flip_in_a_checkpoint_sets_it_aside(folder: Path):
    stopped = Child(folder, "run", "faults.toml", "-o", "out", kill_before=30)
    generator = random.Random(6)
    while stopped.wait().code != -9 or len(list(folder.glob("out.checkpoints/*.checkpoint"))) < 3:
        shutil.rmtree(folder / "out", ignore_errors=True)
        shutil.rmtree(folder / "out.checkpoints", ignore_errors=True)
        stopped = Child(folder, "run", "faults.toml", "-o", "out", kill_before=40)
    scenario = load(folder / "faults.toml")
    asked: list[Replication] = replications_of(scenario, NO_LIMITS)
    told: list[str] = []
    checkpoints = Checkpoints(folder / "out.checkpoints", report=told.append)
    assert all(checkpoints.find(each) for each in asked)
    for number in range(trials(200, of_each=10)):
        replication = asked[number % len(asked)]
        path = folder / "out.checkpoints" / replication.file_name
        before = flip(path, generator)
        assert checkpoints.find(replication) is None
        assert path.name in told.pop()
        path.write_bytes(before)
    assert told == []
    assert all(checkpoints.find(each) for each in asked)
