"""Where the keys of a scenario stand in its text, for editors."""

import re
from collections.abc import Mapping
from typing import Any

Position = tuple[int, int]
"""Line and column, from 1."""

_TABLE = re.compile(r"\s*(?P<list>\[)?\[(?P<path>[^\[\]]+)\]")
_KEY = re.compile(r"\s*(?P<path>[A-Za-z0-9_\"'. -]+?)\s*=")
_OF_ERROR = re.compile(r"\(at line (\d+), column (\d+)\)")


def position_of(path: str, text: str, data: Mapping[str, Any]) -> Position | None:
    """The position of the key at a dotted ``path``, or of the nearest table around it.

    Entries of lists are given by index or name. ``data`` is what ``text`` contains.
    """
    wanted = _indexed(path, data)
    known = _positions(text)
    for length in range(len(wanted), 0, -1):
        if position := known.get(wanted[:length]):
            return position
    return None


def position_in(message: str) -> Position | None:
    """The position that a message about TOML names."""
    found = _OF_ERROR.search(message)
    return (int(found[1]), int(found[2])) if found else None


def _indexed(path: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The steps of a path, with indices for the names of list entries."""
    steps: list[str] = []
    here: Any = data
    for given in path.split("."):
        step = given
        if isinstance(here, list):
            names = [each.get("name") if isinstance(each, Mapping) else None for each in here]
            step = str(names.index(given)) if given in names else given
            inside = step.isdecimal() and int(step) < len(here)
            here = here[int(step)] if inside else None
        else:
            here = here.get(step) if isinstance(here, Mapping) else None
        steps.append(step)
    return tuple(steps)


def _positions(text: str) -> dict[tuple[str, ...], Position]:
    """The position of each table and of each key at the beginning of a line."""
    known: dict[tuple[str, ...], Position] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        column = len(line) - len(line.lstrip()) + 1
        if header := _TABLE.match(line):
            table = _within_lists(_steps(header["path"]), counts)
            if header["list"]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
            known.setdefault(table, (number, column))
        elif key := _KEY.match(line):
            known.setdefault((*table, *_steps(key["path"])), (number, column))
    return known


def _within_lists(steps: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """The path of a table, with the index of the last entry of each list that it is in."""
    path: tuple[str, ...] = ()
    for i, step in enumerate(steps):
        path = (*path, step)
        if path in counts and i < len(steps) - 1:
            path = (*path, str(counts[path]))
    return path


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step.strip().strip("\"'") for step in path.split("."))
