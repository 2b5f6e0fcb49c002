"""Faults: the command is killed, started twice, or runs out of disk, and what is left is checked.

Each test tries a few faults, so that the suite takes at most three minutes. MARQUEUE_FAULT_TRIALS
is how many of each kind `make faults` tries.
"""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Everything that a child would import first.
import marqueue.cli.paper
import marqueue.cli.run
import marqueue.cli.sweep
import marqueue.papers.page
import marqueue.reports.sweep_report
from marqueue.cli import main
from marqueue.results.integrity import check_directory, read_provenance
from marqueue.simulation.checkpoints import _engine

TRIALS = int(os.environ.get("MARQUEUE_FAULT_TRIALS", "0"))
"""How many faults of each kind are tried; 0 stands for a few."""

FILE_OPERATIONS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
"""Events of Python's audit hooks that come before a change of a file system (open: also before
reading)."""


USERS_FILES = ("notes.txt", "out.new/notes.txt", ".out.aaaaaaaaaaaa.partial/notes.txt")
"""Files that nobody may touch; some have names like temporary ones."""


def trials(few: int, *, of_each: int = 1) -> int:
    """How many faults of a kind to try: a few, or so many for each that was asked for."""
    return TRIALS * of_each or few


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    """The exit code; negative: the signal that killed it."""
    said: str
    """What it wrote on standard output and standard error."""
    operations: int
    """How many changes of files it began, if it was not killed."""


class Child:
    """The command in a forked process, which needs none of the imports of a new one."""

    def __init__(self, folder: Path, *arguments: str, kill_before: int | None = None) -> None:
        """``kill_before`` is the number, counted from 1, of the file operation below ``folder``
        before which the process kills itself with SIGKILL."""
        # Known once for all children: it asks git.
        _engine()
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
            main()
            code = 0
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
        """Kills it so long after its start, if it has not ended."""
        self.pause(seconds)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self

    def pause(self, seconds: float) -> None:
        """Lets it run until so long after its start."""
        time.sleep(max(0.0, self.began + seconds - time.monotonic()))

    def wait(self) -> Ended:
        """How it ends."""
        _, status = os.waitpid(self.pid, 0)
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        counted = self.log.with_suffix(".count")
        operations = int(counted.read_text()) if counted.exists() else 0
        for each in (self.log, counted):
            each.unlink(missing_ok=True)
        assert "Traceback" not in said, said
        return Ended(os.waitstatus_to_exitcode(status), said, operations)


def assert_users_files_are_there(folder: Path) -> None:
    """Whatever happened, a user's files are as they were."""
    for name in USERS_FILES:
        assert (folder / name).read_text() == "mine"


def assert_whole_or_absent(directory: Path) -> None:
    """An output directory is as marqueue wrote it, if there is one."""
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
    """The names of what a killed run may leave beside its output."""
    return [
        each.name
        for each in folder.iterdir()
        if each.name.startswith(".out.") and each.name != ".out.aaaaaaaaaaaa.partial"
    ]
