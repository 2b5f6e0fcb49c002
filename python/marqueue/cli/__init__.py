"""The command ``marqueue``."""

import sys
from typing import Annotated

import typer

from marqueue import __version__
from marqueue.cli.lazy import SETTINGS, Entry, lazy
from marqueue.cli.process import check_streams, refuse_little_memory, run_to_end

COMMANDS = {
    "run": Entry("marqueue.cli.run", "run"),
    "sweep": Entry("marqueue.cli.sweep", "sweep"),
    "compare": Entry("marqueue.cli.compare", "compare"),
    "validate": Entry("marqueue.cli.validate", "validate", settings={}),
    "attach": Entry("marqueue.cli.kernel", "attach"),
    "detach": Entry("marqueue.cli.kernel", "detach"),
    "stats": Entry("marqueue.cli.kernel", "stats"),
    "live": Entry("marqueue.cli.live", "live"),
    "link": Entry(
        "marqueue.cli.link",
        "link",
        settings={"context_settings": {"allow_interspersed_args": False}, "no_args_is_help": True},
    ),
    "schema": Entry("marqueue.cli.catalogue", "schema", settings={}),
    "aqm": Entry("marqueue.cli.catalogue", "aqm", help="The AQMs and their parameters."),
    "tcp": Entry("marqueue.cli.catalogue", "tcp", help="The settings of TCP."),
    "paced": Entry("marqueue.cli.catalogue", "paced", help="The rate laws of paced flows."),
    "impairments": Entry(
        "marqueue.cli.catalogue", "impairments", help="What links may do to packets."
    ),
    "paper": Entry("marqueue.cli.paper", "paper", help="The papers that are reproduced here."),
    "theory": Entry("marqueue.cli.theory", "theory", help="What models say of a scenario."),
    "design": Entry("marqueue.cli.design", "design", help="Gains for AQMs, with their margins."),
}

app = typer.Typer(
    name="marqueue",
    cls=lazy(COMMANDS),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
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

    Example: marqueue run scenarios/dumbbell.toml
    """


CATALOGUE = "marqueue.cli.catalogue"
"""Its commands load little."""


def main() -> None:
    """Runs the command; a user's mistake becomes a message and exit code 2, and so does a machine
    that cannot do what was asked, such as a disk that is full."""
    sys.exit(run_to_end(_command))


def _command() -> None:
    check_streams()
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    entry = COMMANDS.get(words[0]) if words else None
    if entry is not None and entry.module != CATALOGUE:
        refuse_little_memory()
    app()
