"""The command as a process: its standard streams, its memory, how it ends."""

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator

from marqueue.cli.console import ReportedInterrupt, say
from marqueue.errors import MarqueueError

MISTAKE = 2
"""Exit code of a user's mistake, and of a machine that cannot do what was asked."""
INTERRUPTED = 128 + signal.SIGINT
NO_READER = 1
"""Exit code where nobody reads what is printed: that of programs which do not die of the signal."""

LEAST_MEMORY = 768 * 2**20
"""Bytes of address space. What a run loads takes 0.6 GB of it before there is any data; with less
its libraries end by a crash, or not at all."""


def run_to_end(command: Callable[[], object]) -> int:
    """Runs the command; its exit code.

    A mistake, an interrupt and a machine that cannot go on become a message. From when the code is
    settled on, an interrupt changes nothing.
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
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if _no_reader(error):
            return NO_READER
        say(_machine(error))
        if isinstance(error, OSError):
            _discard_output()
    return MISTAKE


def _ended(end: SystemExit) -> int:
    """The exit code of a command that ended by itself. The command line's parser turns an interrupt
    and a broken pipe into exit codes, and keeps what they came from."""
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
    """What an exception came from, the nearest first."""
    found = error.__cause__ or error.__context__
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _no_reader(error: Exception) -> bool:
    """Nobody reads standard output any more: nothing to say, and nobody to say it to."""
    if not isinstance(error, OSError) or error.errno != errno.EPIPE or error.filename:
        return False
    _discard_output()
    return True


def _discard_output() -> None:
    """What could not be written is not tried again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _machine(error: Exception) -> str:
    """What the machine could not do; raises again what is none of its limits."""
    match error:
        case MemoryError():
            return f"memory: none is left{_said(error)}{_limit()}"
        case ImportError() if "map segment" in str(error) or "allocate memory" in str(error):
            return f"memory: none is left to load {error.name or 'a library'}{_limit()}"
        case RuntimeError() if "start new thread" in str(error):
            return f"memory: none is left for another thread{_limit()}"
        case OSError():
            return f"{error.filename or 'output'}: {error.strerror or error}"
    raise error


def _said(error: Exception) -> str:
    return f" ({error})" if str(error) else ""


def address_space() -> int | None:
    """How many bytes of address space the process may have; None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _limit() -> str:
    bytes_ = address_space()
    return "" if bytes_ is None else f"; ulimit -v allows {bytes_ / 2**20:.0f} MiB"


def refuse_little_memory() -> None:
    """Raises :class:`MarqueueError` where the libraries of a run do not fit."""
    bytes_ = address_space()
    if bytes_ is None:
        return
    # It reserves tens of MB a processor, and hangs where they are not to be had.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if bytes_ < LEAST_MEMORY:
        raise MarqueueError(
            f"memory: ulimit -v allows {bytes_ / 2**20:.0f} MiB of address space, expected at "
            f"least {LEAST_MEMORY / 2**20:.0f} MiB"
        )


def check_streams() -> None:
    """Takes the place of a standard stream that is closed, so that no file opened later does, and
    nothing meant for the stream is written into it.

    Raises :class:`MarqueueError` where standard output is closed.
    """
    closed = [number for number in range(3) if not _is_open(number)]
    for number in closed:
        # Reading from it fails, as it would from a stream that is closed.
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
