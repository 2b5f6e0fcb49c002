"""The command ``marqueue``."""

import os
import sys
from typing import Annotated

import typer

from marqueue import __version__
from marqueue.cli import complete
from marqueue.cli.lazy import SETTINGS, Entry, lazy
from marqueue.cli.process import check_streams, refuse_little_memory, run_to_end

START = "Start here"
LOOK_UP = "Look up"
MODELS = "Papers and models"
REAL = "Real traffic"

COMMANDS = {
    "init": Entry("marqueue.cli.example", "init", settings={}, panel=START),
    "run": Entry("marqueue.cli.run", "run", panel=START),
    "sweep": Entry("marqueue.cli.sweep", "sweep", panel=START),
    "check": Entry("marqueue.cli.check", "check"),
    "compare": Entry("marqueue.cli.compare", "compare"),
    "plot": Entry("marqueue.cli.plot", "plot"),
    "example": Entry(
        "marqueue.cli.example", "example", help="Scenarios to start from.", panel=LOOK_UP
    ),
    "help": Entry("marqueue.cli.help", "help_", settings={}, panel=LOOK_UP),
    "aqm": Entry(
        "marqueue.cli.catalogue", "aqm", help="The AQMs and their parameters.", panel=LOOK_UP
    ),
    "tcp": Entry("marqueue.cli.catalogue", "tcp", help="The settings of TCP.", panel=LOOK_UP),
    "paced": Entry(
        "marqueue.cli.catalogue", "paced", help="The rate laws of paced flows.", panel=LOOK_UP
    ),
    "impairments": Entry(
        "marqueue.cli.catalogue",
        "impairments",
        help="What links may do to packets.",
        panel=LOOK_UP,
    ),
    "schema": Entry("marqueue.cli.catalogue", "schema", settings={}, panel=LOOK_UP),
    "paper": Entry(
        "marqueue.cli.paper", "paper", help="The papers that are reproduced here.", panel=MODELS
    ),
    "theory": Entry(
        "marqueue.cli.theory", "theory", help="What models say of a scenario.", panel=MODELS
    ),
    "design": Entry(
        "marqueue.cli.design",
        "design",
        help="Gains for AQMs, with their margins.",
        extra="theory",
        panel=MODELS,
    ),
    "validate": Entry(
        "marqueue.cli.validate", "validate", extra="theory", settings={}, panel=MODELS
    ),
    "live": Entry("marqueue.cli.live", "live", panel=REAL),
    "link": Entry(
        "marqueue.cli.link",
        "link",
        settings={"context_settings": {"allow_interspersed_args": False}, "no_args_is_help": True},
        panel=REAL,
    ),
    "attach": Entry("marqueue.cli.kernel", "attach", panel=REAL),
    "stats": Entry("marqueue.cli.kernel", "stats", panel=REAL),
    "detach": Entry("marqueue.cli.kernel", "detach", panel=REAL),
}

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
"""Its commands load little."""


def main() -> None:
    """Runs the command; a user's mistake becomes a message and exit code 2, and so does a machine
    that cannot do what was asked, such as a disk that is full."""
    sys.exit(run_to_end(_command))


def _command() -> None:
    complete.join_words(os.environ)
    check_streams()
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    entry = COMMANDS.get(words[0]) if words else None
    if entry is not None and entry.module != CATALOGUE:
        refuse_little_memory()
    app()
