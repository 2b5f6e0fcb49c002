"""The reference of commands, with arguments and options, from typer's declarations."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from marqueue.cli import app


def commands() -> str:
    """All commands, as sections in Markdown."""
    root = typer.main.get_command(app)
    return "\n".join(_below(root, typer.Context(root, info_name="marqueue"), 2))


# typer has its own copy of click, whose classes have no public names: groups are known by what
# they can.
def _below(group: Any, context: Any, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        inner = typer.Context(command, parent=context, info_name=name)
        yield from _section(command, inner, level)
        if hasattr(command, "list_commands"):
            yield from _below(command, inner, level + 1)


def _section(command: Any, context: Any, level: int) -> Iterator[str]:
    yield f"\n{'#' * level} `{context.command_path}`\n"
    if not hasattr(command, "list_commands"):
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"```text\n{context.command_path} {usage}\n```\n"
    yield _prose(command.help or "")
    if not hasattr(command, "list_commands"):
        yield "\n| argument or option | meaning |\n| --- | --- |"
        for param in command.get_params(context):
            record = param.get_help_record(context)
            if record and param.name != "help":
                yield f"| `{record[0]}` | {_cell(_plain(record[1]))} |"


def _prose(text: str) -> str:
    """The help of a command in Markdown: its lines that begin with ``marqueue`` are code."""
    parts = re.split(r"\n\s*\n", text.replace("\f", "").strip())
    # Examples below each other are one block.
    return "\n\n".join(_part(part) for part in parts).replace("\n```\n\n```sh\n", "\n")


def _part(part: str) -> str:
    plain = _plain(part)
    if plain.startswith(("marqueue ", "sudo marqueue ")):
        return f"```sh\n{plain}\n```"
    if found := re.fullmatch(r"Example: (.+)", plain, re.DOTALL):
        return f"Example:\n\n```sh\n{found[1]}\n```"
    literal = re.sub(r"([<*_])", r"\\\1", part)
    return _plain(re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", literal))


def _plain(text: str) -> str:
    """Text without the marks for bold and dim letters."""
    return re.sub(r"\[/?(bold|dim|green|red|yellow)\]", "", text).replace("\\[", "[")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
