"""A disk that fills up, in steps of a page: the old or the new result is whole, with a message."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import Child, seed_of, trials

PAGE = os.sysconf("SC_PAGE_SIZE")
LARGEST = 500
"""Pages: more than two results and their checkpoints take."""


@pytest.fixture
def disk(folder: Path) -> Iterator[Path]:
    """A small file system."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={LARGEST * PAGE}", "tmpfs", place],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def resize(disk: Path, pages: int) -> None:
    """Sets the size of the file system, pages."""
    options = f"remount,size={pages * PAGE}"
    subprocess.run(["mount", "-o", options, disk], check=True)


def test_a_full_disk(folder: Path, disk: Path):
    old = ("run", "faults.toml", "--seed", "1", "-o", "disk/out")
    new = ("run", "faults.toml", "--seed", "2", "-o", "disk/out", "--force")
    assert Child(folder, *old).wait().code == 0
    used = sum(each.stat().st_blocks * 512 for each in disk.rglob("*")) // PAGE
    steps = range(used + 2, LARGEST)
    chosen = random.Random(10).sample(steps, min(trials(8), len(steps)))
    outcomes = set()
    for pages in sorted(chosen):
        resize(disk, LARGEST)
        for entry in disk.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        assert Child(folder, *old).wait().code == 0
        resize(disk, pages)
        ended = Child(folder, *new).wait()
        seed = seed_of(disk / "out")
        if ended.code == 0:
            assert seed == 2
        else:
            assert ended.code == 2
            assert "No space left on device" in ended.said
            assert seed == 1
            if (disk / "out.checkpoints").exists():
                assert "--resume continues from there" in ended.said
            resize(disk, LARGEST)
            again = Child(folder, *new, "--resume").wait()
            assert again.code == 0, again.said
            assert seed_of(disk / "out") == 2
        left = {each.name for each in disk.iterdir()}
        assert left == {"out"}
        outcomes.add(ended.code)
    assert outcomes == {0, 2}
