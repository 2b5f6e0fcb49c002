"""The command in forked processes that can be killed at any file operation, and checks afterwards.

By default tests try a few faults, so that the suite takes at most three minutes.
MARQUEUE_FAULT_TRIALS is the number of faults of each kind.
"""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# All imports of the command, so that forked children start quickly.
import marqueue.cli.paper
import marqueue.cli.run
import marqueue.cli.sweep
import marqueue.papers.page
import marqueue.reports.sweep_report
from marqueue.cli import command
from marqueue.cli.process import run_to_end
from marqueue.results.integrity import check_directory, read_provenance
from marqueue.simulation import checkpoints

checkpoints.KEPT_AFTER = 0.0
"""The runs here last less than a second, and faults while something is stored are wanted."""

TRIALS = int(os.environ.get("MARQUEUE_FAULT_TRIALS", "0"))
"""Number of faults of each kind; 0: a few."""

FILE_OPERATIONS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
"""Audit events of Python before changes of the file system (open: also before reading)."""


USERS_FILES = ("notes.txt", "out.new/notes.txt", ".out.aaaaaaaaaaaa.partial/notes.txt")
"""Files of the user, which must not change; some are named like temporary files."""


def trials(few: int, *, of_each: int = 1) -> int:
    """Number of faults of a kind: ``few``, or ``of_each`` times the requested number."""
    return TRIALS * of_each or few


@dataclass(frozen=True)
class Ended:
    """The outcome of a child process."""

    code: int
    """Exit code; negative: number of the signal that killed it."""
    said: str
    """Its standard output and standard error."""
    operations: int
    """Number of file operations, if it was not killed."""


class Child:
    """The command in a forked process, which starts without imports."""

    def __init__(self, folder: Path, *arguments: str, kill_before: int | None = None) -> None:
        """``kill_before`` is the number, counted from 1, of the file operation below ``folder``
        before which the process kills itself with SIGKILL."""
        # Cached for all children, because it runs git.
        checkpoints.program_identity()
        self.folder = folder
        self.log = folder.parent / f"{folder.name}.{random.getrandbits(40):010x}.log"
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(arguments, kill_before)

    def _run(self, arguments: tuple[str, ...], kill_before: int | None) -> None:
        """Never returns."""
        code = 70
        count = 0
        try:
            os.chdir(self.folder)
            log = os.open(self.log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            marqueue.cli.console.output.file = sys.stdout
            marqueue.cli.console.errors.file = sys.stderr
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["marqueue", *arguments]
            inside = str(self.folder)

            def hook(event: str, details: tuple[object, ...]) -> None:
                nonlocal count
                if event not in FILE_OPERATIONS or not details:
                    return
                path = details[0]
                if not isinstance(path, str | bytes | os.PathLike):
                    return
                if not os.path.abspath(os.fsdecode(path)).startswith(inside):
                    return
                count += 1
                if count == kill_before:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            # Not `main`, which leaves the process before the operations are counted.
            code = run_to_end(command)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except KeyboardInterrupt:
            code = 130
        except BaseException as error:
            sys.stderr.write(f"Traceback of a test: {error!r}\n")
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
                self.log.with_suffix(".count").write_text(str(count))
            os._exit(code)

    def kill_after(self, seconds: float) -> "Child":
        """Kills the process this long after its start, unless it has ended."""
        self.pause(seconds)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self

    def pause(self, seconds: float) -> None:
        """Waits until this long after its start."""
        time.sleep(max(0.0, self.began + seconds - time.monotonic()))

    def wait(self) -> Ended:
        """Waits for the end and returns the outcome."""
        _, status = os.waitpid(self.pid, 0)
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        counted = self.log.with_suffix(".count")
        # Empty if the child was killed before it had written the number.
        operations = int(counted.read_text() or 0) if counted.exists() else 0
        for each in (self.log, counted):
            each.unlink(missing_ok=True)
        assert "Traceback" not in said, said
        return Ended(os.waitstatus_to_exitcode(status), said, operations)


def assert_users_files_are_there(folder: Path) -> None:
    """Checks that the files of the user are unchanged."""
    for name in USERS_FILES:
        assert (folder / name).read_text() == "mine"


def assert_whole_or_absent(directory: Path) -> None:
    """Checks that an output directory, if there is one, is complete and unchanged."""
    assert not directory.exists() or check_directory(directory) == []


def seed_of(directory: Path) -> int | None:
    """The seed of the result in a directory, which is whole; None if there is none.

    Fails if there is something else.
    """
    if not directory.exists():
        return None
    assert check_directory(directory) == []
    seed = read_provenance(directory)["seed"]
    assert isinstance(seed, int)
    return seed


def temporary(folder: Path) -> list[str]:
    """Names of temporary files that a killed run may leave next to its output."""
    return [
        each.name
        for each in folder.iterdir()
        if each.name.startswith(".out.") and each.name != ".out.aaaaaaaaaaaa.partial"
    ]
