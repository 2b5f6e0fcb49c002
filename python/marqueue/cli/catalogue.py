"""``marqueue aqm``, ``tcp``, ``paced``, ``media``, ``impairments`` and ``schema``: models and their
parameters."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from marqueue.cli import complete
from marqueue.cli.console import output, print_json, table
from marqueue.errors import MarqueueError, unknown
from marqueue.scenario import schema as scenario_schema
from marqueue.scenario.parameters import (
    Declaration,
    ModelEntry,
    aqms,
    jitter_declarations,
    losses,
    media_controls,
    rate_laws,
    reorder_declarations,
    resolved_tcp,
    tcp_declarations,
    tcp_presets,
)

aqm = typer.Typer(no_args_is_help=True)
tcp = typer.Typer(no_args_is_help=True)
paced = typer.Typer(no_args_is_help=True)
media = typer.Typer(no_args_is_help=True)
impairments = typer.Typer(no_args_is_help=True)


@aqm.command("list")
def aqm_list() -> None:
    """List the AQMs."""
    listing = table("name", "what it does", "source")
    for entry in aqms().values():
        listing.add_row(entry.name, entry.summary, entry.source)
    output.print(listing)


@aqm.command("show", no_args_is_help=True)
def aqm_show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="AQM", help="A name of: marqueue aqm list.", autocompletion=complete.aqms
        ),
    ],
) -> None:
    """Show an AQM: its source, its parameters and the variables that it records.

    Example: marqueue aqm show red
    """
    if name not in aqms():
        raise MarqueueError(f"AQM: {unknown(name, aqms())}")
    entry = aqms()[name]
    output.print(f"[bold]{entry.name}[/bold]: {entry.summary}", highlight=False)
    output.print(f"Source: {entry.source}", highlight=False)
    output.print()
    if entry.params:
        output.print(_parameters(entry.params))
    else:
        output.print("It has no parameters.")
    if entry.probes:
        variables = ", ".join(f"{name} ({unit})" for name, unit in entry.probes)
        output.print(f"\nRecorded: {variables}", highlight=False)


@tcp.command("show")
def tcp_show() -> None:
    """Show the parameters of TCP and the values of each preset."""
    output.print(_parameters(tcp_declarations()))
    output.print()
    presets = table("parameter", *tcp_presets())
    values = {preset: resolved_tcp(preset, {}) for preset in tcp_presets()}
    for spec in tcp_declarations():
        presets.add_row(
            spec.name,
            *(
                _show(spec.write(each[spec.name])) if spec.name in each else escape(spec.auto)
                for each in values.values()
            ),
        )
    output.print("[bold]Presets[/bold]")
    output.print(presets)


@paced.command("show")
def paced_show() -> None:
    """Show the rate laws of paced flows and their parameters."""
    for entry in rate_laws().values():
        _model(entry)


@media.command("show")
def media_show() -> None:
    """Show the controls of media flows and their parameters."""
    for entry in media_controls().values():
        _model(entry)


@impairments.command("show")
def impairments_show() -> None:
    """Show the models of loss, jitter and reordering, and their parameters."""
    for entry in losses().values():
        _model(entry, "loss, model ")
    output.print("[bold]jitter[/bold]: Random extra delay")
    output.print(_parameters(jitter_declarations()))
    output.print("\n[bold]reorder[/bold]: Delays a share of packets, so that others overtake them")
    output.print(_parameters(reorder_declarations()))


def _model(entry: ModelEntry, what: str = "") -> None:
    output.print(f"[bold]{what}{entry.name}[/bold]: {entry.summary}", highlight=False)
    output.print(f"Source: {entry.source}", highlight=False)
    output.print(_parameters(entry.params))
    output.print()


def schema() -> None:
    """Print the JSON Schema of scenarios, for editors.

    Example: marqueue schema > scenario.schema.json
    """
    print_json(scenario_schema())


def _parameters(declared: Sequence[Declaration]) -> Table:
    """A table of parameters: name, meaning, default, range and source."""
    listing = table("parameter", "what it does")
    for spec in declared:
        default = spec.auto if spec.default is None else _show(spec.write(spec.default))
        allowed = "an AQM" if spec.kind == "policy" else spec.range or spec.expected
        listing.add_row(
            f"[bold]{spec.name}[/bold]",
            f"{escape(spec.doc)}\n[dim]Default: {escape(default) or 'none (required)'}. "
            f"Values: {escape(allowed)}. Source: {escape(spec.source)}.[/dim]",
        )
    return listing


def _show(value: object) -> str:
    """A value as in a scenario file, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)
