"""Reading the text of a scenario from a file, a pipe or standard input."""

import logging
import os
import select
from pathlib import Path

from marqueue.errors import Problem, ScenarioError

LARGEST = 64 * 2**20
"""Maximum size of a scenario file, bytes: enough for 10^5 groups of traffic with every key."""

STANDARD_INPUT = "-"
PATIENCE = 1.0
"""Seconds without data after which a warning is logged."""

CHUNK = 2**20

_log = logging.getLogger(__name__)


def origin_of(path: Path | str) -> str:
    """The name of a scenario file in messages."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def read_scenario(path: Path | str) -> str:
    """The text of a scenario file, of a pipe, or of standard input where ``path`` is ``-``.

    Logs a warning if a pipe delivers nothing for a second, and keeps waiting. Raises ScenarioError
    if the text cannot be read, is not UTF-8 or is larger than :data:`LARGEST`.
    """
    origin = origin_of(path)
    try:
        # open() would wait for the other end of a FIFO without a warning.
        source = 0 if str(path) == STANDARD_INPUT else os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _read(source, origin).decode("utf-8-sig")
        finally:
            if source != 0:
                os.close(source)
    except FileNotFoundError:
        problem = "no such file, expected a scenario in TOML"
    except UnicodeDecodeError:
        problem = "cannot be read: not UTF-8 text"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise ScenarioError([Problem("", problem)], origin)


def _read(source: int, origin: str) -> bytes:
    """All bytes of an open file. Raises ScenarioError if there are too many."""
    ready = select.poll()
    ready.register(source, select.POLLIN)
    parts: list[bytes] = []
    size = 0
    patience: float | None = PATIENCE * 1000
    while True:
        if not ready.poll(patience):
            _log.warning("%s: waiting for a scenario, no data yet", origin)
            patience = None
            continue
        try:
            part = os.read(source, CHUNK)
        except BlockingIOError:
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            most = f"{LARGEST // 2**20} MiB"
            message = f"got more than {most}, expected a scenario in TOML of at most {most}"
            raise ScenarioError([Problem("", message)], origin)
