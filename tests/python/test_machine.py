"""What the machine does to the command: whatever it refuses, the command says so and ends."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

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


def with_limit(limit: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(limit, (value, value))


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What the command says in a shell that does something to its streams."""
    text = f"{' '.join(COMMAND)} {line}"
    return subprocess.run(["sh", "-c", text], cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("arguments", ["aqm list", "run {file}", "--version", "run {file} --json"])
def test_closed_output_is_a_message_before_anything_is_simulated(
    arguments: str, small_file: Path, tmp_path: Path
) -> None:
    done = shell(f"{arguments.format(file=small_file)} >&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "standard output: closed, expected it open (>/dev/null discards it)\n"
    assert not (tmp_path / "results").exists()


def test_other_closed_streams_do_no_harm(small_file: Path, tmp_path: Path) -> None:
    done = shell(f"run {small_file} -r 1 --json <&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "Small"
    done = shell("run - <&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "standard input: cannot be read: Bad file descriptor\n"


def test_a_reader_that_is_gone_before_the_first_word_ends_the_command() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, "--version"], stdout=writer, stderr=PIPE, text=True)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == ""


def test_too_little_memory_is_a_message_before_anything_is_simulated(
    small_file: Path, tmp_path: Path
) -> None:
    for size in (100_000 * 1024, 450_000 * 1024, 700_000 * 1024):
        done = subprocess.run(
            [*COMMAND, "run", str(small_file), "--out", str(tmp_path / "out")],
            preexec_fn=with_limit(resource.RLIMIT_AS, size),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2
        allowed = f"ulimit -v allows {size / 2**20:.0f} MiB of address space"
        assert done.stderr == f"memory: {allowed}, expected at least 768 MiB\n"
        assert list(tmp_path.iterdir()) == [small_file]


def test_a_commit_that_git_cannot_tell_is_a_message(small_file: Path, tmp_path: Path) -> None:
    """Few open files keep git from being asked; a package that is in no working tree has none."""
    package = Path(__file__).parents[2]
    if not (package / ".git").exists():
        pytest.skip("this is no working tree")
    for number in (6, 8):
        done = subprocess.run(
            [*COMMAND, "run", str(small_file), "--out", str(tmp_path / "out")],
            preexec_fn=with_limit(resource.RLIMIT_NOFILE, number),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert "git does not report the commit" in done.stderr
        assert not (tmp_path / "out").exists()


SETTLED = """
import os, signal, sys
from marqueue.cli.process import run_to_end
signal.signal(signal.SIGINT, signal.default_int_handler)
class Late:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
late = Late()
code = run_to_end(lambda: print("done"))
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""


def test_an_interrupt_after_the_end_changes_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", SETTLED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_an_interrupt_before_the_end_is_a_message() -> None:
    raised = SETTLED.replace('lambda: print("done")', "lambda: os.kill(os.getpid(), signal.SIGINT)")
    done = subprocess.run([sys.executable, "-c", raised], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_an_interrupt_while_the_result_is_printed_has_one_outcome(
    small_file: Path, tmp_path: Path
) -> None:
    for attempt in range(3):
        with subprocess.Popen(
            [*COMMAND, "run", str(small_file), "-r", "1", "--out", str(attempt)],
            cwd=tmp_path,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as running:
            assert running.stdout is not None
            running.stdout.readline()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        assert (running.returncode, said) in ((0, ""), (130, "Interrupted.\n"))
