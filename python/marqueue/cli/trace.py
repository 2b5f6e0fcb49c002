"""``marqueue trace``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.errors import MarqueueError, RunError
from marqueue.results.output_file import check_output_file, write_output_file, write_output_files
from marqueue.units import Duration


def trace(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="The directory of a result whose scenario has trace = true.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="qlog: the folder for one file for each flow. perfetto: the file.",
            show_default=False,
        ),
    ],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="qlog, qlog-0.3 (the version that qvis reads) or perfetto.",
        ),
    ] = "qlog",
    flow: Annotated[
        list[int] | None,
        typer.Option(
            "--flow",
            metavar="N",
            min=0,
            help="A traced flow by its number (repeatable).",
            show_default="all",
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            "--link", metavar="NAME", help="A traced link (repeatable).", show_default="all"
        ),
    ] = None,
    replication: Annotated[
        int, typer.Option(metavar="N", min=0, help="A replication, counted from 0.")
    ] = 0,
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Leave out what comes before.")
    ] = "0 s",
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="Leave out what comes from then on.",
            show_default="the end",
        ),
    ] = None,
    force: options.ForceFile = False,
) -> None:
    """Write what a result has traced as qlog (a file for each TCP flow) or for Perfetto.

    The scenario says what is traced: trace = true on TCP traffic (windows and round-trip times), on
    links, and in [topology.access] (packets as their sender sees them). docs/traces.md says what
    is in the files.

    [bold]Examples[/bold]

    marqueue trace results/dumbbell --out qlogs

    marqueue trace results/dumbbell --format perfetto --out dumbbell.pftrace

    marqueue trace results/dumbbell --format perfetto --from '2 s' --to '3 s' --out part.pftrace
    """
    # Most commands read no tables of packets.
    from marqueue.results import Result
    from marqueue.traces.choice import Choice, nothing_traced
    from marqueue.traces.files import OF_FLOWS, check_format, files_of_flows

    check_format("--format", format_)
    if format_ == "perfetto":
        check_output_file(out, replace=force)
    choice = Choice(
        Result.load(source),
        replication,
        tuple(flow or ()),
        tuple(link or ()),
        _seconds("--from", begin),
        float("inf") if end is None else _seconds("--to", end),
    )
    if not choice.chosen_flows and (format_ in OF_FLOWS or not choice.chosen_links):
        raise nothing_traced(format_)
    if format_ == "perfetto":
        from marqueue.traces.perfetto import perfetto

        write_output_file(out, perfetto(choice))
        print(out)
        return
    for name, content in files_of_flows(choice, format_):
        if (out / name).exists() and not force:
            raise RunError(f"{out / name}: exists, expected a new file; --force replaces it")
        write_output_files(out, {name: content})
        print(out / name)


def _seconds(option: str, text: str) -> float:
    """The time that an option gives, s."""
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        raise MarqueueError(f"{option}: {error}") from None
