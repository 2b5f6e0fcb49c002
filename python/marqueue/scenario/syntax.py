"""Reading TOML, with error messages that show keys as they are in the file."""

import ast
import re
import tomllib
from typing import Any

TOO_DEEP = "nested too deeply, expected a few tables within each other"

_NAMED = re.compile(r"(?P<what>Cannot [a-z ]+)(?P<key>\(.+\))(?P<rest>( twice)? \(at [^)]+\))")
"""A message of tomllib that shows a key as a tuple of texts."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")

_STATEMENT = re.compile(r"\s*\[{1,2}(?P<table>[^\[\]]+)\]|\s*(?P<key>[^=#\[\]{}]+?)\s*=")
"""The beginning of a line: a table, or a key with a value."""

_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def read_toml(text: str) -> dict[str, Any]:
    """Parses a text in TOML.

    Raises ValueError with the line. This includes texts that make Python's parser fail otherwise,
    such as numbers of thousands of digits and deeply nested brackets.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_explained(str(error), text)) from None


def _explained(message: str, text: str) -> str:
    """A message of tomllib with keys as they are in the file."""
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
    """A key in TOML, with quotes if it needs them: ``topology.bottleneck``."""
    return ".".join(step if _BARE.fullmatch(step) else f'"{step}"' for step in key)


def _key_of(message: str, text: str) -> str | None:
    """The key in the line of an error; messages about the end of the text name no line."""
    lines = text.split("\n")
    place = _LINE.search(message)
    if place is None:
        lines = [line for line in lines if line.strip()]
        number = len(lines)
    else:
        number = int(place[1])
    statement = _STATEMENT.match(lines[number - 1]) if 0 < number <= len(lines) else None
    return (statement["table"] or statement["key"]).strip() if statement else None
