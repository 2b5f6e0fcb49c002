"""Groups of commands that are imported on demand.

The list of commands in help and completion needs only their names and docstrings, which are read
from the source. Importing all commands would take ten times as long.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from marqueue.cli.option_errors import refused
from marqueue.extras import require

SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": "rich",
    "pretty_exceptions_enable": False,
}
"""Settings of all Typer applications."""


@dataclass(frozen=True)
class Entry:
    """The location of a command or of a group of commands."""

    module: str
    name: str
    """The name of the function or of the group in its module."""
    documented: str | None = None
    """The function with the docstring of a group."""
    help: str | None = None
    """The help of a group without such a function."""
    extra: str | None = None
    """The extra that a command needs (:mod:`marqueue.extras`)."""
    settings: Mapping[str, Any] = field(default_factory=lambda: {"no_args_is_help": True})
    """Settings of a command."""
    panel: str | None = None
    """The heading under which help lists it."""

    @property
    def text(self) -> str:
        """Its help text, without importing it."""
        return self.help or docstring(self.module, self.documented or self.name)

    def load(self, name: str) -> Any:
        """Imports the command or group. Raises MissingExtra if its extra is not installed."""
        if self.extra:
            require(self.extra, f"The command {name}")
        app = typer.Typer(**SETTINGS)
        app.callback()(lambda: None)
        found = getattr(import_module(self.module), self.name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, help=self.text)
        else:
            app.command(name, **self.settings)(found)
        group = typer.main.get_command(app)
        assert isinstance(group, TyperGroup)
        return group.commands[name]


def docstring(module: str, function: str) -> str:
    """The docstring of a function in a module, without importing the module."""
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    [node] = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
    return ast.get_docstring(node) or ""


def without_python_types(parameters: list[Any]) -> list[Any]:
    """The same parameters; help shows the metavar of an option, and no type of Python's.

    A flag takes no value, and the name of an argument says what it is.
    """
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = parameter.metavar or ""
        elif parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
    return parameters


def hide_python_types(command: Any, context: Any) -> None:
    """Applies :func:`without_python_types` to a command and to all commands below it."""
    without_python_types(command.get_params(context))
    for below in getattr(command, "commands", {}).values():
        hide_python_types(below, context)


def lazy(entries: Mapping[str, Entry], panel: str | None = None) -> type[TyperGroup]:
    """The class of a group with these commands, in this order. ``panel`` is the heading for
    commands without one."""

    class Lazy(TyperGroup):
        def __init__(self, **attrs: Any) -> None:
            super().__init__(**attrs)
            self.commands.update(
                (name, TyperCommand(name, rich_help_panel=entry.panel or panel))
                for name, entry in entries.items()
            )

        def get_params(self, ctx: Any) -> list[Any]:
            """The options of the group, without types of Python."""
            return without_python_types(super().get_params(ctx))

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """A command, with its help if it has not been imported."""
            command = super().get_command(ctx, cmd_name)
            if command is not None and command.callback is None and not command.help:
                command.help = entries[cmd_name].text
            return command

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Imports the command that will run or show its help."""
            if args[0] in entries:
                command = entries[args[0]].load(args[0])
                hide_python_types(command, ctx)
                self.commands[args[0]] = command
            return super().resolve_command(ctx, args)

        def invoke(self, ctx: Any) -> Any:
            """Runs a command. Raises RunError for a value of an option that is refused."""
            try:
                return super().invoke(ctx)
            except typer.BadParameter as error:
                if (refusal := refused(error)) is None:
                    raise
                raise refusal from error

    return Lazy
