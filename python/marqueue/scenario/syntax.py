"""TOML as scenarios use it; what is wrong is told with keys as the file writes them."""

import ast
import re
import tomllib
from typing import Any

TOO_DEEP = "nested too deeply, expected a few tables within each other"

_NAMED = re.compile(r"(?P<what>Cannot [a-z ]+)(?P<key>\(.+\))(?P<rest>( twice)? \(at [^)]+\))")
"""A message of tomllib with a key, as a tuple of texts."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")

_STATEMENT = re.compile(r"\s*\[{1,2}(?P<table>[^\[\]]+)\]|\s*(?P<key>[^=#\[\]{}]+?)\s*=")
"""The beginning of a line: a table, or a key with a value."""

_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text.

    Raises ValueError with the line, also for what Python's parser stumbles over: numbers of
    thousands of digits, and more brackets than its stack holds.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_explained(str(error), text)) from None


def _explained(message: str, text: str) -> str:
    """tomllib's message with keys as the file writes them."""
    if named := _NAMED.fullmatch(message):
        what = named["what"].replace(
            "mutate immutable namespace", "add to the finished table or list"
        )
        return f"{what}{_written(ast.literal_eval(named['key']))}{named['rest']}"
    if message.startswith("Cannot overwrite a value"):
        key = _key_of(message, text)
        rest = message.removeprefix("Cannot overwrite a value")
        return f"Cannot set {key} again, it has a value{rest}" if key else message
    return message


def _written(key: tuple[str, ...]) -> str:
    """A key as TOML writes it: ``topology.bottleneck``, with quotes where it needs them."""
    return ".".join(step if _BARE.fullmatch(step) else f'"{step}"' for step in key)


def _key_of(message: str, text: str) -> str | None:
    """The key of the line that the message is about; it names none if the text ends there."""
    lines = text.split("\n")
    place = _LINE.search(message)
    if place is None:
        lines = [line for line in lines if line.strip()]
        number = len(lines)
    else:
        number = int(place[1])
    statement = _STATEMENT.match(lines[number - 1]) if 0 < number <= len(lines) else None
    return (statement["table"] or statement["key"]).strip() if statement else None
