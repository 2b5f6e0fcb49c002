"""Tab completion of scenario files, AQMs, papers, experiments, and scenario keys with their values.

Slow imports happen inside functions, only when a word is completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from marqueue.scenario.reference import Key, Section

VARIABLE = "_MARQUEUE_COMPLETE"
"""The environment variable with which the shell requests completions."""

_typed_path = ""
"""The PATH= in front of the cursor, which bash treats as separate words."""


def join_words(environ: MutableMapping[str, str]) -> None:
    """Joins PATH=VALUE into one word, because bash splits it at the sign. At the cursor only VALUE
    is left, which is the part that bash replaces, and PATH= is remembered."""
    global _typed_path
    if environ.get(VARIABLE) != "complete_bash":
        return
    words = environ["COMP_WORDS"].split("\n")
    cursor = int(environ["COMP_CWORD"])
    words += [""] * (cursor + 1 - len(words))
    before, after = words[: cursor + 1], words[cursor + 1 :]
    if before[-1:] == ["="]:
        before.append("")
    if before[-2:-1] == ["="] and len(before) > 2:
        _typed_path = f"{before[-3]}="
        before[-3:] = before[-1:]
    joined: list[str] = []
    for word in before[:-1]:
        if joined and (word == "=" or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    environ["COMP_WORDS"] = "\n".join([*joined, before[-1], *after])
    environ["COMP_CWORD"] = str(len(joined))


def scenario_files(incomplete: str) -> list[str]:
    """TOML files and directories."""
    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    shown = incomplete[: incomplete.rfind("/") + 1]
    try:
        there = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        f"{shown}{path.name}{'/' * path.is_dir()}"
        for path in there
        if (path.is_dir() or path.suffix == ".toml")
        and (not path.name.startswith(".") or typed.name.startswith("."))
    ]


def examples() -> list[str]:
    """The example scenarios of the package."""
    from marqueue.cli.example_files import paths

    return list(paths())


def aqms() -> list[tuple[str, str]]:
    """The AQMs with their descriptions."""
    from marqueue.scenario import parameters

    return [(name, entry.summary) for name, entry in parameters.aqms().items()]


def papers() -> list[tuple[str, str]]:
    """The papers with their titles."""
    from marqueue.papers import PAPERS

    return [(key, each.title) for key, each in PAPERS.items()]


def experiments(context: typer.Context) -> list[tuple[str, str]]:
    """The experiments of the paper that was typed before."""
    from marqueue.papers import PAPERS

    paper = PAPERS.get(context.params.get("key") or "")
    return list(paper.experiments.items()) if paper else []


def readings(context: typer.Context) -> list[tuple[str, str]]:
    """The values of --readings for the paper that was typed before."""
    from marqueue.papers import PAPERS
    from marqueue.papers.readings import ALL, MAIN

    every = {MAIN: "the main choice", ALL: "that, and each alternative, one at a time"}
    paper = PAPERS.get(context.params.get("key") or "")
    for reading in paper.readings if paper else []:
        every |= {f"{reading.id}={each.value}": each.text for each in reading.alternative}
    return list(every.items())


def topics() -> list[str]:
    """The topics of ``marqueue help``."""
    from marqueue.cli.commands import COMMANDS

    return ["scenario", *COMMANDS]


def settings(context: typer.Context, incomplete: str) -> list[str]:
    """Completions of PATH=VALUE: first keys of the scenario, then values of the key."""
    path, equals, value = (_typed_path + incomplete).partition("=")
    data = _scenario(context)
    if not equals:
        return _paths(path, data)
    *above, last = path.split(".")
    earlier = value[: value.rfind(",") + 1]
    return [
        f"{path}={earlier}{each}".removeprefix(_typed_path)
        for key in _keys(above, data)
        if key.name == last
        for each in _values(key)
    ]


def _scenario(context: typer.Context) -> Any:
    """The data of the scenario file in the command; empty if it cannot be read."""
    from marqueue.scenario.syntax import read_toml

    # Arguments are not assigned while an option lacks its value.
    file = context.params.get("file") or next(iter(context.args), None)
    try:
        return read_toml(Path(file).read_text(encoding="utf-8-sig")) if file else {}
    except (OSError, ValueError):
        return {}


def _paths(typed: str, data: Any) -> list[str]:
    """The next steps of a path. A shell ends a word with a single completion, so a single table is
    offered with its keys, and a single key with its values."""
    *above, begun = typed.split(".")
    place = "".join(f"{step}." for step in above)
    names = [name for name in _names(above, data) if name.startswith(begun)]
    keys = [key for key in _keys(above, data) if key.name.startswith(begun)]
    offered = [f"{place}{name}." for name in names]
    for key in keys:
        path = f"{place}{key.name}"
        offered += [f"{path}."] if key.is_table else [f"{path}="]
        if key.choices and key.has_keys:
            offered += [f"{path}."]
    offered = list(dict.fromkeys(offered))
    if len(offered) > 1 or not offered:
        return offered
    [only] = offered
    if only.endswith("."):
        return _paths(only, data)
    return [only, *(f"{only}{value}" for key in keys for value in _values(key))]


def _names(way: list[str], data: Any) -> list[str]:
    """The names of the tables in a list, or of named tables."""
    from marqueue.scenario.reference import sections

    if not any(section.stands_at([*way, "NAME"]) for section in sections()):
        return []
    there = _at(way, data)
    if isinstance(there, Mapping):
        return list(there)
    tables = there if isinstance(there, list) else []
    return [_name(table, i) for i, table in enumerate(tables)]


def _name(table: Any, index: int) -> str:
    name = table.get("name") if isinstance(table, Mapping) else None
    return name if isinstance(name, str) and name and not set(name) & set(" .=") else str(index)


def _keys(way: list[str], data: Any) -> list[Key]:
    """The keys of the table at a path; only those of its kind, if that is known."""
    from marqueue.scenario.reference import sections

    there = [section for section in sections() if section.stands_at(way)]
    if len(there) > 1:
        own = _own(there, _at(way, data))
        there = own or there
    return [key for section in there for key in section.keys]


def _own(kinds: Iterable[Section], table: Any) -> list[Section]:
    words: set[object] = {table} if isinstance(table, str) else set()
    if isinstance(table, Mapping):
        words = {table.get(key) for key in ("kind", "name", "model")}
    return [section for section in kinds if section.title.rpartition(": ")[2] in words]


def _at(way: list[str], data: Any) -> Any:
    """The value at a path; None if there is none."""
    for step in way:
        match data:
            case Mapping():
                data = data.get(step)
            case list():
                named = [t for i, t in enumerate(data) if step in (str(i), _name(t, i))]
                data = named[0] if named else None
            case _:
                return None
    return data


def _values(key: Key) -> list[str]:
    """The values of a key, or an example; without spaces, at which shells split words."""
    if key.choices:
        return list(key.choices)
    value = key.example.partition(" = ")[2].strip('"').replace(" ", "")
    return [] if not value or set(value) & set("[{") else [value]
