"""Differentiated services code points (RFC 2474), by name (EF) or by number (0 to 63)."""

from functools import cache
from typing import Any

from marqueue.errors import show
from marqueue.scenario.catalogue import catalogue

DSCP_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 63}]
}
"""A code point in a JSON Schema."""


@cache
def _declared() -> tuple[str, dict[str, int]]:
    """The engine's description of a code point, and the numbers of those that have names."""
    return catalogue()["dscp_expected"], dict(catalogue()["dscps"])


def dscp_expected() -> str:
    """The forms that a code point may have, for error messages."""
    return _declared()[0]


def dscp_value(text: str) -> int:
    """The six bits of a code point that :func:`read_dscp` has returned."""
    named = _declared()[1]
    return named[text] if text in named else int(text)


def read_dscp(value: object) -> str:
    """The name of a code point, or its number as text if it has none.

    Raises ValueError with the value and what was expected.
    """
    named = _declared()[1]
    if isinstance(value, str) and value in named:
        number = named[value]
    elif isinstance(value, str) and value.isascii() and value.isdigit():
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        number = -1
    if not 0 <= number < 64:
        raise ValueError(f"got {show(value)}, expected {dscp_expected()}")
    return next((name for name, each in named.items() if each == number), str(number))
