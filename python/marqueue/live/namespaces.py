"""Temporary network namespaces.

Each namespace has a name, which ``ip netns`` shows, and a lock file, which its owner keeps locked.
TUN devices and commands end with the owner's process. If the owner was killed, only the name and
the unlocked lock file are left; the next live run removes both.
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
from marqueue.live import isolation, requirements
from marqueue.live.termination import deferred

LOCKS = Path("/run/marqueue")
NAMES = Path("/run/netns")
PREFIX = "marqueue-"


TURN = 60.0
"""Seconds to wait for other processes that are setting up or removing namespaces."""
STEP = 0.01
"""Seconds between two attempts."""


@contextmanager
def setup_lock() -> Iterator[None]:
    """Context manager: a lock across processes while names and addresses are allocated. Signals are
    deferred."""
    try:
        LOCKS.mkdir(exist_ok=True)
        with deferred(), (LOCKS / ".turn").open("w") as turn:
            _take(turn)
            yield
    except OSError as error:
        raise RunError(f"{LOCKS}: {error.strerror or error}") from None


def _take(turn: IO[str]) -> None:
    """Locks the file. Other processes hold the lock only briefly, unless they are stopped."""
    until = time.monotonic() + TURN
    while True:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise RunError(
                    f"{turn.name}: locked by another process for {TURN:g} s, expected a moment: is "
                    "a marqueue process stopped (Ctrl-Z)?"
                ) from None
        time.sleep(STEP)


def clear_leftovers() -> list[str]:
    """Removes the namespaces whose owners are gone, and gives back a processor that was isolated.
    Returns the names of the namespaces."""
    isolation.remove_leftovers()
    gone = []
    # A command interrupted by the death of its owner may have created the name only.
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
    """Removes a namespace, if it exists, and kills its processes."""
    if not (NAMES / name).exists():
        return
    until = time.monotonic() + requirements.PATIENCE
    # A process may have forked between the listing and the kill.
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
    """Context manager: new namespaces, one for each role, named after this process. Removes them at
    the end, and those of killed processes first."""
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
    """Creates a namespace for each role and adds its name and locked file to ``held``."""
    with setup_lock():
        clear_leftovers()
        for name in _free_names(roles):
            held.append((name, (LOCKS / name).open("w")))
            fcntl.flock(held[-1][1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            requirements.run("ip", "netns", "add", name)
    for name, _ in held:
        requirements.batch(name, "link set lo up")
        # No router solicitations: they would be counted in every figure.
        requirements.set_parameters(
            name,
            ipv4__ip_forward=1,
            ipv6__conf__all__forwarding=1,
            ipv6__conf__default__router_solicitations=0,
        )


def _free_names(roles: Sequence[str]) -> list[str]:
    """Names with the id of this process, and a number if another PID namespace uses the same id."""
    owners = (f"{os.getpid()}{f'.{n}' if n else ''}" for n in count())
    names = ([f"{PREFIX}{owner}-{role}" for role in roles] for owner in owners)
    return next(each for each in names if not any((LOCKS / name).exists() for name in each))
