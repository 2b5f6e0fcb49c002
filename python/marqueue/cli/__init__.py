"""The command ``marqueue``."""

import os
import sys
from typing import Annotated, NoReturn

import typer

from marqueue import __version__
from marqueue.cli import complete
from marqueue.cli.commands import COMMANDS, MODELS
from marqueue.cli.lazy import SETTINGS, lazy
from marqueue.cli.process import (
    check_streams,
    leave,
    refuse_little_memory,
    run_to_end,
)
from marqueue.light_start import start_light

app = typer.Typer(
    name="marqueue",
    cls=lazy(COMMANDS, "Results"),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS | {"add_completion": True},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"marqueue {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A workbench for active queue management and congestion control.

    [bold]To begin with[/bold]

    marqueue init first.toml   (a commented scenario to change)

    marqueue run first.toml   (a table, and a report to open in a browser)

    marqueue sweep first.toml --over topology.bottleneck.aqm=droptail,codel,pie
    """


CATALOGUE = "marqueue.cli.catalogue"
"""The module whose commands need little memory."""


def main() -> NoReturn:
    """Runs the command and exits with its code.

    Mistakes of the user and failures of the machine, such as a full disk, give a message and exit
    code 2.
    """
    leave(run_to_end(command))


def command() -> None:
    """What the words of the command line ask for."""
    start_light()
    complete.join_words(os.environ)
    check_streams()
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    entry = COMMANDS.get(words[0]) if words else None
    if entry is not None and entry.module != CATALOGUE:
        refuse_little_memory()
    if entry is None or entry.panel != MODELS:
        # OpenBLAS starts a thread per processor with numpy; only models multiply matrices.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app()
