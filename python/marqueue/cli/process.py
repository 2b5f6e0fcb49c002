"""The command as a process: standard streams, memory limits and exit codes."""

import atexit
import errno
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from marqueue.cli.console import ReportedInterrupt, say
from marqueue.errors import MarqueueError

MISTAKE = 2
"""Exit code for mistakes of the user and failures of the machine."""
INTERRUPTED = 128 + signal.SIGINT
NO_READER = 1
"""Exit code if standard output is a closed pipe."""

LEAST_MEMORY = 768 * 2**20
"""Bytes of address space. The libraries of a run take 0.6 GB; with less they crash or hang."""


def run_to_end(command: Callable[[], object]) -> int:
    """Runs the command and returns its exit code.

    Mistakes, interrupts and failures of the machine become messages. After the command has ended,
    interrupts are ignored.
    """
    try:
        code = _code(command)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt as interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if not isinstance(interrupt, ReportedInterrupt):
            say("Interrupted.")
        return INTERRUPTED
    return code


def leave(code: int) -> NoReturn:
    """Ends the process, whose output is flushed, with this code.

    Python would take every module apart first, which frees memory that the system frees anyway: a
    tenth of what a short run costs. What was registered for the end of the process still takes
    place. With another thread at work, and after a failure, Python ends the process.
    """
    if code != 0 or threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python reports it.
            sys.exit(code)
    os._exit(code)


def _code(command: Callable[[], object]) -> int:
    """The exit code of a command; raises KeyboardInterrupt."""
    try:
        command()
        sys.stdout.flush()
        return 0
    except SystemExit as end:
        return _ended(end)
    except MarqueueError as error:
        say(str(error))
        return error.exit_code
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if _no_reader(error):
            return NO_READER
        say(_machine(error))
        if isinstance(error, OSError):
            _discard_output()
    return MISTAKE


def _ended(end: SystemExit) -> int:
    """The exit code of a command that called exit. The parser of the command line turns an
    interrupt and a broken pipe into exit codes, with the original error as their cause."""
    for error in _causes(end):
        if isinstance(error, KeyboardInterrupt) and end.code == INTERRUPTED:
            raise error
        if isinstance(error, OSError) and end.code == 1 and _no_reader(error):
            return NO_READER
    try:
        sys.stdout.flush()
    except OSError as error:
        if not _no_reader(error):
            say(_machine(error))
            _discard_output()
            return MISTAKE
        return NO_READER
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The causes of an exception, the nearest first."""
    found = error.__cause__ or error.__context__
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _no_reader(error: Exception) -> bool:
    """Whether standard output is a closed pipe. If so, further output is discarded."""
    if not isinstance(error, OSError) or error.errno != errno.EPIPE or error.filename:
        return False
    _discard_output()
    return True


def _discard_output() -> None:
    """Redirects standard output to the null device, so that Python's final flush succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _machine(error: Exception) -> str:
    """The message for a failure of the machine; raises other errors again."""
    match error:
        case MemoryError():
            return f"out of memory{_said(error)}{_limit()}"
        case ImportError() if "map segment" in str(error) or "allocate memory" in str(error):
            return f"out of memory while loading {error.name or 'a library'}{_limit()}"
        case RuntimeError() if "start new thread" in str(error):
            return f"out of memory for another thread{_limit()}"
        case OSError():
            return f"{error.filename or 'output'}: {error.strerror or error}"
    raise error


def _said(error: Exception) -> str:
    return f" ({error})" if str(error) else ""


def address_space() -> int | None:
    """The limit of the process' address space, bytes; None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _limit() -> str:
    bytes_ = address_space()
    return "" if bytes_ is None else f"; ulimit -v allows {bytes_ / 2**20:.0f} MiB"


def refuse_little_memory() -> None:
    """Raises MarqueueError if the address space is too small for the libraries of a run."""
    bytes_ = address_space()
    if bytes_ is None:
        return
    # OpenBLAS reserves tens of MB per processor, and hangs if it cannot get them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if bytes_ < LEAST_MEMORY:
        raise MarqueueError(
            f"memory: ulimit -v allows {bytes_ / 2**20:.0f} MiB of address space, expected at "
            f"least {LEAST_MEMORY / 2**20:.0f} MiB"
        )


def check_streams() -> None:
    """Opens the null device in place of closed standard streams, so that no file opened later gets
    their number and their output.

    Raises MarqueueError if standard output is closed.
    """
    closed = [number for number in range(3) if not _is_open(number)]
    for number in closed:
        # Write-only, so that reading fails like reading from a closed stream.
        opened = os.open(os.devnull, os.O_WRONLY)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    if 1 in closed:
        raise MarqueueError("standard output: closed, expected it open (>/dev/null discards it)")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
