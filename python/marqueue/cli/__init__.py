"""The command ``marqueue``."""

import os
import sys
from typing import Annotated

import typer

from marqueue import __version__
from marqueue.cli.console import errors
from marqueue.cli.lazy import SETTINGS, Entry, lazy
from marqueue.errors import MarqueueError

COMMANDS = {
    "run": Entry("marqueue.cli.run", "run"),
    "sweep": Entry("marqueue.cli.sweep", "sweep"),
    "compare": Entry("marqueue.cli.compare", "compare"),
    "plot": Entry("marqueue.cli.plot", "plot"),
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


def main() -> None:
    """Runs the command; a user's mistake becomes a message and exit code 2, and so does a machine
    that cannot do what was asked, such as a disk that is full."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except MarqueueError as error:
        errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        where = error.filename or "output"
        what = f"{where}: {error.strerror or error}"
        errors.print(what, markup=False, highlight=False, soft_wrap=True)
        # What could not be written is not tried again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
