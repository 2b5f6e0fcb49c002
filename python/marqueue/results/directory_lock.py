"""A lock on an output directory, held by the process that writes it.

The lock is a file ``.NAME.lock`` beside the directory NAME, locked with flock(2): the kernel
releases it when its holder ends. The file contains the identity of the holder.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from marqueue.errors import RunError
from marqueue.results.output_file import unwritable

_PATIENCE = 1.0
"""Seconds to wait until the holder of a lock has written its identity."""


class Occupied(RunError):
    """An output directory is locked by another process, or is not empty."""


@contextmanager
def locked(directory: Path, shown: Path) -> Iterator[None]:
    """Holds the lock of an output directory whose parent exists.

    Raises Occupied, naming the holder, if another process has the lock; RunError if the lock file
    cannot be written or is not a lock of marqueue.
    """
    path = directory.with_name(f".{directory.name}.lock")
    if path.exists() and not _is_lock(path):
        raise RunError(f"{path}: not a lock file of marqueue, expected no file of this name")
    try:
        lock = _acquire(path)
    except BlockingIOError:
        raise Occupied(f"{shown}: in use by {_holder(path)}, expected no other run there") from None
    except OSError as error:
        raise unwritable(shown, error) from None
    try:
        path.write_text(json.dumps(_identity()), encoding="utf-8")
        yield
    finally:
        # Removed before the release: a process that has opened the file meanwhile notices that its
        # name is gone, and tries again with a new file.
        with suppress(OSError):
            path.unlink()
        os.close(lock)


def _acquire(path: Path) -> int:
    """Makes and locks a file, and returns its descriptor.

    Raises BlockingIOError if another process has the lock, OSError if the file cannot be written.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        except FileNotFoundError:
            pass
        except OSError:
            os.close(lock)
            raise
        # The former holder removed the file between the first two steps.
        os.close(lock)


def _identity() -> dict[str, str | int]:
    return {
        "program": "marqueue",
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": " ".join(map(os.path.basename, sys.argv[:1])) + " " + " ".join(sys.argv[1:]),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
    }


def _is_lock(path: Path) -> bool:
    """Whether a file is empty, like a new lock, or contains a lock of marqueue."""
    try:
        text = path.read_text(encoding="utf-8")
        return not text or json.loads(text).get("program") == "marqueue"
    except (OSError, ValueError, AttributeError):
        return not path.exists()


def _holder(path: Path) -> str:
    """The holder of a lock, for messages."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            holder = json.loads(path.read_text(encoding="utf-8"))
            where = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
            return f"process {holder['pid']}{where} ({holder['command']}, since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.01)
    return "another process"
