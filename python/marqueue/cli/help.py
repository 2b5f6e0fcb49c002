"""``marqueue help``: the help of a command, and the reference of scenario keys."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.markup import escape

from marqueue.cli import complete
from marqueue.cli.console import output, table
from marqueue.scenario.reference import Key, Section, lookup, sections

SCENARIO = "scenario"


def help_(
    context: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC",
            help='A command, or "scenario", alone or followed by KEY.',
            show_default=False,
            autocompletion=complete.topics,
        ),
    ] = None,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print the reference of all scenario keys as Markdown."),
    ] = False,
) -> None:
    """Explain the keys of scenarios, or a command.

    KEY is a path as for --set, such as topology.bottleneck.aqm.max_p, or the name of a key, a kind
    of traffic or an AQM.

    [bold]Examples[/bold]

    marqueue help scenario

    marqueue help scenario buffer

    marqueue help scenario traffic.web.rate
    """
    words = topic or []
    if markdown:
        print("\n".join(page()))
    elif words[:1] == [SCENARIO]:
        _explain(".".join(words[1:]))
    else:
        root = context.find_root()
        root.command.main([*words, "--help"], prog_name=root.info_name)


def _explain(path: str) -> None:
    """Prints the reference, or its entries for a path or a name."""
    if not path:
        for section in sections():
            if not section.model:
                _table(section)
        names = ", ".join(s.title.partition(": ")[2] for s in sections() if s.model)
        output.print(f"[bold]Chosen by name[/bold], each with its own keys: {names}.\n")
        output.print(
            "marqueue help scenario KEY has the details of a path, such as "
            "topology.bottleneck.aqm, or of a name, such as buffer, cbr or pie.",
            highlight=False,
        )
        return
    found = lookup(path)
    alike: dict[Key, list[Section]] = {}
    for section, key in found.keys:
        alike.setdefault(key, []).append(section)
    for key, where in alike.items():
        _key(key, where)
    for section in found.tables:
        _table(section)


def _table(section: Section) -> None:
    """Prints a table with a line for each key."""
    listing = table("key", "type", "default", "meaning")
    for key in section.keys:
        listing.add_row(
            f"[bold]{key.name}[/bold]", *map(escape, (key.type, key.default, key.meaning))
        )
    output.print(f"[bold]{escape(section.title)}[/bold]{escape(_where(section))}", highlight=False)
    output.print(escape(section.about), highlight=False)
    output.print(listing)
    output.print()


def _key(key: Key, where: Sequence[Section]) -> None:
    """Prints all details of a key, which may occur in several tables."""
    tables = "; ".join(section.title + _where(section) for section in where)
    output.print(f"[bold]{key.name}[/bold] of {escape(tables)}", highlight=False)
    output.print(escape(key.meaning), highlight=False)
    names = ", ".join(key.choices) if key.has_keys else ""
    facts = {"Type": key.type, "Names": names, "Units": key.unit, "Default": key.default}
    facts["Example"] = key.example
    for name, value in facts.items():
        if value:
            output.print(f"  {name}: {escape(value)}", highlight=False, soft_wrap=True)
    output.print()


def _where(section: Section) -> str:
    """The location of a table, in a few words."""
    places = [place for place in section.places if place]
    if not places:
        return ", at the top of the file"
    if section.model:
        return f", as a value of {places[0].rpartition('.')[2]}"
    return f", at {', '.join(places)}"


PREFACE = """\
# Scenario files: every key

Generated from the JSON Schema by `make scenario-reference`: do not edit. `marqueue help scenario
KEY` prints the same in a terminal; `marqueue init` writes a commented scenario. Quantities are
texts with a unit. `NAME` and `N` in a path stand for the name of a table in a list, or its index
from 0."""


def page() -> Iterator[str]:
    """The lines of docs/scenario.md."""
    yield PREFACE
    for section in sections():
        yield ""
        yield f"{'###' if section.model else '##'} {section.title}"
        yield ""
        places = [f"`{place}`" for place in section.places if place]
        where = "At the top of the file." if not places else f"At {', '.join(places)}."
        if section.model:
            where = f"A value of `{places[0].strip('`').rpartition('.')[2]}`."
        yield f"{_cell(section.about)} {where}".strip()
        yield ""
        yield from _rows(section.keys)


def _rows(keys: Sequence[Key]) -> Iterator[str]:
    yield "| key | type | units | default | meaning | example |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key in keys:
        cells = (f"`{key.name}`", key.type, key.unit, key.default, key.meaning, f"`{key.example}`")
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """The text of a cell in Markdown, with escaped bars."""
    return text.replace("|", "\\|")
