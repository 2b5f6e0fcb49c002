"""The command ``marqueue``."""

import sys
from typing import Annotated

import typer

from marqueue import __version__
from marqueue.cli import (
    catalogue,
    compare,
    design,
    kernel,
    link,
    live,
    paper,
    run,
    sweep,
    theory,
    validate,
)
from marqueue.cli.console import errors
from marqueue.errors import MarqueueError

app = typer.Typer(
    name="marqueue",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", no_args_is_help=True)(run.run)
app.command("sweep", no_args_is_help=True)(sweep.sweep)
app.command("compare", no_args_is_help=True)(compare.compare)
app.command("validate")(validate.validate)
app.command("attach", no_args_is_help=True)(kernel.attach)
app.command("detach", no_args_is_help=True)(kernel.detach)
app.command("stats", no_args_is_help=True)(kernel.stats)
app.command("live", no_args_is_help=True)(live.live)
app.command("link", context_settings={"allow_interspersed_args": False}, no_args_is_help=True)(
    link.link
)
app.command("schema")(catalogue.schema)
app.add_typer(catalogue.aqm, name="aqm")
app.add_typer(catalogue.tcp, name="tcp")
app.add_typer(catalogue.paced, name="paced")
app.add_typer(catalogue.impairments, name="impairments")
app.add_typer(paper.paper, name="paper")
app.add_typer(theory.theory, name="theory")
app.add_typer(design.design, name="design")


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
    """Runs the command; a user's mistake becomes a message and exit code 2."""
    try:
        app()
    except MarqueueError as error:
        errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
