"""Files of capacity traces for live links: of mahimahi, captures, qlog."""

from __future__ import annotations

from pathlib import Path

from marqueue.errors import RunError
from marqueue.scenario.delivery_trace import read as read_times


def read(path: Path) -> list[int]:
    """The times of a trace, ns. Raises RunError with the number of the first invalid line."""
    try:
        return read_times(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text of numbers"
        raise RunError(f"{path}: cannot be read: {reason}") from None
    except ValueError as error:
        raise RunError(f"{path}:{error}") from None
