"""JSON that people read: an object or an array a line, indented."""

import json
from typing import Any

import marqueue._core as _core


def dump_json(value: Any, *, sort_keys: bool = True) -> str:
    """JSON with an indent of two and a final newline. Raises ValueError for NaN and infinities."""
    # Python's fast encoder, which is in C, cannot indent.
    text = json.dumps(
        value,
        sort_keys=sort_keys,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    return f"{_core.indent_json(text)}\n"
