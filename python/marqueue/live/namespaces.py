"""Network namespaces that are gone when they are no longer used.

Each has a name that ``ip netns`` shows and a file that its owner keeps locked. A TUN device closes
with the process that opened it, commands die with the process that started them; the name and the
file are all that an owner who was killed leaves. Whoever comes next finds the file unlocked and
removes both.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.live.termination import deferred

LOCKS = Path("/run/marqueue")
NAMES = Path("/run/netns")
PREFIX = "marqueue-"


TURN = 60.0
"""Seconds to wait for others that set up or take down something."""
STEP = 0.01
"""Seconds between two looks."""


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """While names and addresses are taken, nobody else takes any; signals are deferred."""
    try:
        LOCKS.mkdir(exist_ok=True)
        with deferred(), (LOCKS / ".turn").open("w") as turn:
            _take(turn)
            yield
    except OSError as error:
        raise RunError(f"{LOCKS}: {error.strerror or error}") from None


def _take(turn: IO[str]) -> None:
    """Locks the file, which others hold for moments only, unless they are stopped."""
    until = time.monotonic() + TURN
    while True:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise RunError(
                    f"{turn.name}: locked by another process for {TURN:g} s, expected a moment: is "
                    "a marqueue stopped (Ctrl-Z)?"
                ) from None
        time.sleep(STEP)


def clear_leftovers() -> list[str]:
    """Removes the namespaces whose owners are gone, and gives their names."""
    gone = []
    # A command that was at work when its owner was killed may have made the name alone.
    names = {path.name for where in (LOCKS, NAMES) for path in where.glob(f"{PREFIX}*")}
    for path in (LOCKS / name for name in sorted(names)):
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            remove(path.name)
            path.unlink(missing_ok=True)
            gone.append(path.name)
    return gone


def remove(name: str) -> None:
    """Removes a namespace with all that runs in it, if it is there."""
    if not (NAMES / name).exists():
        return
    until = time.monotonic() + requirements.PATIENCE
    # What was about to start another process may have done so meanwhile.
    while pids := requirements.run("ip", "netns", "pids", name).split():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        if time.monotonic() > until:
            break
        time.sleep(STEP)
    requirements.run("ip", "netns", "delete", name)


@contextmanager
def namespaces(*roles: str) -> Iterator[list[str]]:
    """Fresh namespaces, one for each role, named after this process; removed at the end, whatever
    happens. What others have left is removed first."""
    held: list[tuple[str, IO[str]]] = []
    try:
        with deferred():
            _make(roles, held)
        yield [name for name, _ in held]
    finally:
        with deferred():
            for name, file in held:
                remove(name)
                (LOCKS / name).unlink(missing_ok=True)
                file.close()


def _make(roles: Sequence[str], held: list[tuple[str, IO[str]]]) -> None:
    """Makes a namespace for each role; ``held`` are their names and locked files."""
    with one_at_a_time():
        clear_leftovers()
        for name in _free_names(roles):
            held.append((name, (LOCKS / name).open("w")))
            fcntl.flock(held[-1][1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            requirements.run("ip", "netns", "add", name)
    for name, _ in held:
        requirements.batch(name, "link set lo up")
        # Nobody asks for routers: such packets would be in every figure.
        requirements.set_parameters(
            name,
            ipv4__ip_forward=1,
            ipv6__conf__all__forwarding=1,
            ipv6__conf__default__router_solicitations=0,
        )


def _free_names(roles: Sequence[str]) -> list[str]:
    """Names after the number of this process, which in a PID namespace may be another's too."""
    owners = (f"{os.getpid()}{f'.{n}' if n else ''}" for n in count())
    names = ([f"{PREFIX}{owner}-{role}" for role in roles] for owner in owners)
    return next(each for each in names if not any((LOCKS / name).exists() for name in each))
