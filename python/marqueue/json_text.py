"""JSON that people read: indented, with an entry a line, or an array of numbers a line."""

import json
from typing import Any

import marqueue._core as _core


def dump_json(value: Any, *, sort_keys: bool = True) -> str:
    """JSON with an indent of two, arrays of numbers on one line, and a final newline. Raises
    ValueError for NaN and infinities."""
    # Python's fast encoder, which is in C, cannot indent.
    text = json.dumps(
        value,
        sort_keys=sort_keys,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    return f"{_core.indent_json(text)}\n"
