"""What the machine does to the command: whatever it refuses, the command says so and ends."""

import resource
import subprocess
from pathlib import Path
from subprocess import PIPE

from conftest import COMMAND


def test_output_that_cannot_be_written_is_a_message() -> None:
    # Short and long: the first is written when the command ends, the second before.
    for arguments in (["--version"], ["schema"], ["aqm", "list"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=PIPE, text=True)
        assert done.returncode == 2, done.stderr
        assert done.stderr == "output: No space left on device\n"


def test_a_reader_that_has_enough_ends_the_command() -> None:
    # 1 as shells' tools have it that do not die of the signal.
    with subprocess.Popen([*COMMAND, "schema"], stdout=PIPE, stderr=PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
    assert running.returncode == 1
    assert said == ""


def test_a_disk_that_refuses_is_a_message_and_leaves_no_result(
    small_file: Path, tmp_path: Path
) -> None:
    # 30 kB are fewer than a result's largest file has, and more than what is kept of a replication.
    limit = (30_000, 30_000)
    done = subprocess.run(
        [*COMMAND, "run", str(small_file), "--out", str(tmp_path / "out")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
