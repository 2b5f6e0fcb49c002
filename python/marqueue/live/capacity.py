"""Files of capacity traces for live links, in the format of mahimahi."""

from __future__ import annotations

from pathlib import Path

from marqueue.errors import RunError
from marqueue.scenario.delivery_trace import parse


def read(path: Path) -> list[int]:
    """The times of a trace, ns. Raises RunError with the number of the first invalid line."""
    try:
        return parse(path.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text of numbers"
        raise RunError(f"{path}: cannot be read: {reason}") from None
    except ValueError as error:
        raise RunError(f"{path}:{error}") from None
