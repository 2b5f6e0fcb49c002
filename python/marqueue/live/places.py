"""Network namespaces that are gone when they are no longer used.

Each has a name that ``ip netns`` shows and a file that its owner keeps locked. A TUN device closes
with the process that opened it, commands die with the process that started them; the name is all
that an owner who was killed leaves. Whoever comes next finds the file unlocked and removes the
name.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from marqueue.errors import RunError
from marqueue.live import machine

LOCKS = Path("/run/marqueue")
NAMES = Path("/run/netns")
PREFIX = "marqueue-"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """While names and addresses are taken, nobody else takes any."""
    try:
        LOCKS.mkdir(exist_ok=True)
        with (LOCKS / ".turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise RunError(f"{LOCKS}: {error.strerror or error}") from None


def clear_leftovers() -> list[str]:
    """Removes the namespaces whose owners are gone, and gives their names."""
    gone = []
    for path in sorted(LOCKS.glob(f"{PREFIX}*")):
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
    for pid in machine.run("ip", "netns", "pids", name).split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            continue
    machine.run("ip", "netns", "delete", name)


@contextmanager
def namespaces(*roles: str) -> Iterator[list[str]]:
    """Fresh namespaces, one for each role, named after this process; removed at the end, whatever
    happens. What others have left is removed first."""
    names = [f"{PREFIX}{os.getpid()}-{role}" for role in roles]
    held: list[tuple[str, IO[str]]] = []
    try:
        with one_at_a_time():
            clear_leftovers()
            for name in names:
                held.append((name, (LOCKS / name).open("w")))
                fcntl.flock(held[-1][1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                machine.run("ip", "netns", "add", name)
        for name in names:
            machine.batch(name, "link set lo up")
            # Nobody asks for routers: such packets would be in every figure.
            machine.set_parameters(
                name,
                ipv4__ip_forward=1,
                ipv6__conf__all__forwarding=1,
                ipv6__conf__default__router_solicitations=0,
            )
        yield names
    finally:
        for name, file in held:
            remove(name)
            (LOCKS / name).unlink(missing_ok=True)
            file.close()
