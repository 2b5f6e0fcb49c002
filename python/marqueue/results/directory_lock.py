"""A lock on an output directory, held by the process that is going to write it.

The lock is a file ``.NAME.lock`` beside the directory NAME, locked with flock(2): the kernel
releases it however its holder ends. The file says who holds it.
"""

from __future__ import annotations

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
"""Seconds to wait for the holder of a lock to write who it is."""


class Occupied(RunError):
    """An output directory that is taken: by another process, or by what is in it."""


@contextmanager
def locked(directory: Path, shown: Path) -> Iterator[None]:
    """Holds the lock of an output directory whose parent exists.

    Raises Occupied, with the holder, if another process has it; RunError if the file cannot be
    written or is not a lock.
    """
    # Importing it takes 60 ms, which most commands can do without.
    from filelock import FileLock, Timeout

    path = directory.with_name(f".{directory.name}.lock")
    if path.exists() and not _is_lock(path):
        raise RunError(f"{path}: not a lock file of marqueue, expected no file of this name")
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Occupied(f"{shown}: in use by {_holder(path)}, expected no other run there") from None
    except OSError as error:
        raise unwritable(shown, error) from None
    try:
        path.write_text(json.dumps(_identity()), encoding="utf-8")
        yield
    finally:
        # Removed while it is locked: whoever opened this file meanwhile will find that it has no
        # name any more, and try again with a new one.
        with suppress(OSError):
            path.unlink()
        lock.release()


def _identity() -> dict[str, str | int]:
    return {
        "program": "marqueue",
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": " ".join(map(os.path.basename, sys.argv[:1])) + " " + " ".join(sys.argv[1:]),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
    }


def _is_lock(path: Path) -> bool:
    """Whether a file is empty, as new locks are, or says that it is a lock of marqueue."""
    try:
        text = path.read_text(encoding="utf-8")
        return not text or json.loads(text).get("program") == "marqueue"
    except (OSError, ValueError, AttributeError):
        return not path.exists()


def _holder(path: Path) -> str:
    """Who holds a lock, in words."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            holder = json.loads(path.read_text(encoding="utf-8"))
            where = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
            return f"process {holder['pid']}{where} ({holder['command']}, since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.01)
    return "another process"
