"""Exceptions with messages for users, and the parts that such messages are made of.

Any other exception is a bug and keeps its traceback.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from marqueue.errors.foreign_names import known_name, nearest_relative


class MarqueueError(Exception):
    """The base of all errors whose message tells a user what is wrong."""

    exit_code = 2
    """Of a command that ends with it."""


class RunError(MarqueueError):
    """A run could not be started, or its result could not be written."""


class GuestError(RunError):
    """A kernel of a run has failed: it died, hung, or broke off."""

    exit_code = 1


class BrokenProgram(RunError):
    """A program of the user's raised an error in a run, or returned nonsense."""

    exit_code = 1


class ResultError(MarqueueError):
    """A directory is not an output of marqueue, or its files have changed since they were
    written."""


class ModelError(MarqueueError, ValueError):
    """A model does not cover its input; the message names the value or the violated assumption."""


#: Mistakes that a message lists, and names that were expected; a large network may have as many as
#: it has links.
MOST_PROBLEMS, MOST_NAMES = 50, 100


@dataclass(frozen=True)
class Problem:
    """One mistake in a scenario."""

    path: str
    """Dotted path of the key, as for ``--set``; empty for the scenario as a whole."""
    message: str
    """The value found and what was expected."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ScenarioError(MarqueueError, ValueError):
    """A scenario cannot be run; ``problems`` lists every mistake in it. The message has the first
    :data:`MOST_PROBLEMS` of them."""

    def __init__(self, problems: Iterable[Problem], origin: str = "scenario") -> None:
        self.problems = tuple(dict.fromkeys(problems))
        self.origin = origin
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if more := len(self.problems) - len(lines):
            lines.append(f"{more:,} more problems")
        super().__init__("\n".join(f"{origin}: {line}" for line in lines))


def dotted_path(location: Iterable[int | str]) -> str:
    """The dotted path of a location in a scenario."""
    return ".".join(str(step) for step in location)


def with_names(problems: Iterable[Problem], data: object) -> list[Problem]:
    """The problems with names instead of list indices in their paths: ``traffic.web.packet``
    instead of ``traffic.1.packet``. ``--set`` accepts both."""
    return [Problem(_named_path(each.path, data), each.message) for each in problems]


def _named_path(path: str, data: object) -> str:
    steps = []
    here: Any = data
    for step in path.split("."):
        shown = step
        index = int(step) if step.isdecimal() and len(step) < 7 else None
        if isinstance(here, list) and index is not None and index < len(here):
            shown = _name_in(here, index)
            here = here[index]
        else:
            here = here.get(step) if isinstance(here, Mapping) else None
        steps.append(shown)
    return ".".join(steps)


def _name_in(tables: list[Any], index: int) -> str:
    """The name of a table in a list, or its index if the name does not identify it."""
    names = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
    name = names[index]
    if not isinstance(name, str) or names.count(name) > 1:
        return str(index)
    leads_back = name.strip() == name != "" and not name.isdecimal()
    return name if leads_back and not set(name) & set("./=") else str(index)


def show(value: object) -> str:
    """A value as a scenario file writes it, cut to one short line."""
    match value:
        case bool():
            text = str(value).lower()
        case str():
            text = f'"{value}"' if value.isprintable() else json.dumps(value)
        case dict():
            text = "a table"
        case list() | tuple():
            text = f"a list of {len(value)}"
        case None:
            text = "nothing"
        case int() if value.bit_length() > 10_000:
            text = hex(value)  # Python refuses to write such a number in decimal.
        case _:
            text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


#: Stands for a missing value.
MISSING = "\N{EN DASH}"


def differing_values(
    a: Mapping[str, Any], b: Mapping[str, Any], most: int | None = None
) -> list[tuple[str, str, str]]:
    """The values that differ between two nested mappings, as (dotted path, a, b). A list of tables
    of which more than ``most`` values differ, such as the links of two networks, is one value: its
    length."""
    if a == b:
        # Most are; a flat copy takes a millisecond for a sweep of 500 points.
        return []
    of_a, of_b = (dict(_flat(each, ())) for each in (a, b))
    found = {
        path: (of_a.get(path, MISSING), of_b.get(path, MISSING))
        for path in dict.fromkeys([*of_a, *of_b])
        if of_a.get(path) != of_b.get(path)
    }
    in_list = Counter(map(_list_of, found)) if most is not None and len(found) > most else Counter()
    many = {path: number for path, number in in_list.items() if path and number > (most or 0)}
    rows: dict[str, tuple[str, str]] = {}
    for path, values in found.items():
        if many and (of := _list_of(path)) in many:
            rows.setdefault(f"{of} ({many[of]:,} values)", (_entries(a, of), _entries(b, of)))
        else:
            rows[path] = values
    return [(path, *values) for path, values in rows.items()]


def flat_values(mapping: Mapping[str, Any], most: int) -> dict[str, str]:
    """The values of a nested mapping by their dotted paths. A list with more than ``most`` entries
    is one value: its length."""
    return dict(_flat(mapping, (), most))


def _flat(value: Any, path: tuple[str, ...], most: float = math.inf) -> Iterator[tuple[str, str]]:
    """Each value with its dotted path; a list of plain values counts as one value, and so does one
    with more than ``most`` entries."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, (*path, key), most)
    elif isinstance(value, list) and len(value) > most:
        yield ".".join(path), f"{len(value):,} entries"
    elif isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value):
        for i, each in enumerate(value):
            yield from _flat(each, (*path, str(i)), most)
    elif isinstance(value, list):
        yield ".".join(path), ", ".join(map(show, value))
    else:
        yield ".".join(path), show(value)


def _list_of(path: str) -> str:
    """The path of the outermost list that a path goes into; empty if it goes into none."""
    steps = path.split(".")
    places = (i for i, step in enumerate(steps) if step.isdecimal())
    return ".".join(steps[: next(places, 0)])


def _entries(mapping: Mapping[str, Any], path: str) -> str:
    """How many entries the list at a path has."""
    here: Any = mapping
    for step in path.split("."):
        here = here.get(step) if isinstance(here, Mapping) else None
    return f"{len(here):,} entries" if isinstance(here, list) else MISSING


def one_of(names: Iterable[str]) -> str:
    """The names that were expected, for an error message; of very many the first ones."""
    known = list(names)
    listed = known[:MOST_NAMES]
    more = f" and {len(known) - len(listed):,} more" if len(listed) < len(known) else ""
    return f"one of {', '.join(listed) or 'none: there is none'}{more}"


def unknown(given: object, names: Iterable[str]) -> str:
    """The error message for an unknown name: the name, the known ones and a suggestion."""
    known = list(names)
    return f"got {show(given)}, expected {one_of(known)}{suggestion(given, known)}"


def unknown_key(
    given: str, names: Iterable[str], owner: str = "the table", elsewhere: str | None = None
) -> str:
    """The error message for an unknown key of a table.

    ``owner`` names the table; ``elsewhere`` suggests a key of another table.
    """
    known = list(names)
    expected = one_of(known) if known else f"none: {owner} has no parameters"
    meant = f"; did you mean {elsewhere}?" if elsewhere else suggestion(given, known)
    return f"unknown key, expected {expected}{meant}"


def suggestion(given: object, known: list[str]) -> str:
    """The end of an error message: a known name that the user may have meant, or the most similar
    algorithm that marqueue has; empty without either."""
    text = str(given)
    alias, nearest = known_name(text, known), nearest_relative(text, known)
    if alias is None and nearest:
        return f'; {show(text)} is not available, the most similar is "{nearest}"'
    close = [alias] if alias else get_close_matches(text, known, n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else ""
