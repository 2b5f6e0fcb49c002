"""What can go wrong through a user's doing; everything else is a bug and keeps its traceback."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from marqueue.errors.foreign_names import kin, meant


class MarqueueError(Exception):
    """A mistake that its message explains."""


class RunError(MarqueueError):
    """A run could not be started, or its result could not be written."""


class ResultError(MarqueueError):
    """A directory that is not a result of marqueue, or whose files are not as they were written."""


class ModelError(MarqueueError, ValueError):
    """A model says nothing of what it was given; the message names the value or the assumption
    that fails."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario."""

    path: str
    """Dotted path of the offending key, as ``--set`` takes it; empty for the whole."""
    message: str
    """The value and what was expected."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ScenarioError(MarqueueError, ValueError):
    """A scenario that cannot be run, with all that is wrong with it."""

    def __init__(self, problems: Iterable[Problem], origin: str = "scenario") -> None:
        self.problems = tuple(dict.fromkeys(problems))
        self.origin = origin
        super().__init__("\n".join(f"{origin}: {problem}" for problem in self.problems))


def dotted(location: Iterable[int | str]) -> str:
    """The dotted path of a place in a scenario."""
    return ".".join(str(step) for step in location)


def named(problems: Iterable[Problem], data: object) -> list[Problem]:
    """The problems of a scenario with tables of lists by their names: ``traffic.web.packet`` in
    place of ``traffic.1.packet``, as ``--set`` takes it too."""
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
    """The name of a table in a list, or its number where the name does not lead back to it."""
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
            text = f'"{value}"'
        case dict():
            text = "a table"
        case list() | tuple():
            text = f"a list of {len(value)}"
        case None:
            text = "nothing"
        case int() if value.bit_length() > 10_000:
            text = hex(value)  # Python writes no such number in decimal digits.
        case _:
            text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


#: How a value that does not exist is written.
MISSING = "\N{EN DASH}"


def differing_values(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The values that are not the same in two scenarios or the like: dotted path, a, b."""
    of_a, of_b = (dict(_flat(each, ())) for each in (a, b))
    return [
        (path, of_a.get(path, MISSING), of_b.get(path, MISSING))
        for path in dict.fromkeys([*of_a, *of_b])
        if of_a.get(path) != of_b.get(path)
    ]


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each value with its path; a list of plain values is one of them."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, (*path, key))
    elif isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value):
        for i, each in enumerate(value):
            yield from _flat(each, (*path, str(i)))
    elif isinstance(value, list):
        yield ".".join(path), ", ".join(map(show, value))
    else:
        yield ".".join(path), show(value)


def one_of(names: Iterable[str]) -> str:
    """What was expected, where only some names are."""
    return f"one of {', '.join(names) or 'none: there is none'}"


def unknown(given: object, names: Iterable[str]) -> str:
    """The message for a name that is none of those that there are."""
    known = list(names)
    return f"got {show(given)}, expected {one_of(known)}{near(given, known)}"


def unknown_key(
    given: str, names: Iterable[str], owner: str = "the table", elsewhere: str | None = None
) -> str:
    """The message for a key that a table does not have.

    ``owner`` is who has the keys; ``elsewhere`` says which key of another table is meant.
    """
    known = list(names)
    expected = one_of(known) if known else f"none: {owner} has no parameters"
    meant = f"; did you mean {elsewhere}?" if elsewhere else near(given, known)
    return f"unknown key, expected {expected}{meant}"


def near(given: object, known: list[str]) -> str:
    """The end of an error message: which name may have been meant, or is the nearest to one that is
    not there; empty if there is none."""
    text = str(given)
    alias, nearest = meant(text, known), kin(text, known)
    if alias is None and nearest:
        return f'; {show(text)} is not there, its nearest kin is "{nearest}"'
    close = [alias] if alias else get_close_matches(text, known, n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else ""
