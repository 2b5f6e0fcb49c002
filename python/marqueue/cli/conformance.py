"""``marqueue conformance``: our TCP held against test suites that others wrote."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import print_json, print_table, progress_bar, say, table
from marqueue.conformance.packetdrill import Outcome, find_scripts, judge_all

conformance = typer.Typer(no_args_is_help=True)

ORDER = ("fail", "unreadable", "pass", "skipped")
"""The order of verdicts in the table: what wants attention comes first."""

COLORS = {"fail": "red", "unreadable": "red", "pass": "green", "skipped": "dim"}


@conformance.callback()
def _group() -> None:
    """TCP held against test suites that others wrote."""


@conformance.command("packetdrill", no_args_is_help=True)
def packetdrill(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Scripts, or folders with scripts (*.pkt) at any depth.",
            show_default=False,
        ),
    ],
    failed: Annotated[
        bool, typer.Option("--failed", help="List only scripts that fail or cannot be read.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Play scripts of packetdrill against the TCP sender, under preset linux.

    A script says which segments arrive and which must leave, and when. Its sysctls are translated
    to TCP parameters; its shell commands and its Python are never executed. A script that asks for
    what a model of congestion control has not (Fast Open, zerocopy, data that arrives) is skipped
    with the reason.

    [bold]Examples[/bold]

    marqueue conformance packetdrill packetdrill/gtests/net/tcp

    marqueue conformance packetdrill cubic.pkt --json

    Exit codes: 0 all that were played passed, 1 some failed or cannot be read, 2 an error that the
    message explains.
    """
    scripts = find_scripts(paths)
    with progress_bar("conformance") as progress:
        outcomes = judge_all(scripts, lambda done: progress(done, len(scripts)))
    if json:
        print_json([each.as_dict() for each in outcomes])
    else:
        _print(outcomes, failed)
    if any(each.verdict in ("fail", "unreadable") for each in outcomes):
        raise typer.Exit(1)


def _print(outcomes: list[Outcome], failed: bool) -> None:
    rows = table("verdict", "script", "line", "expected", "got", "")
    for each in sorted(outcomes, key=lambda each: (ORDER.index(each.verdict), each.path)):
        if failed and each.verdict not in ("fail", "unreadable"):
            continue
        color = COLORS[each.verdict]
        rows.add_row(
            f"[{color}]{each.verdict}[/{color}]",
            *(_literal(text) for text in (str(each.path), each.line, each.expected, each.got)),
            _literal(each.reason),
        )
    print_table(rows)
    counts = Counter(each.verdict for each in outcomes)
    played = counts["pass"] + counts["fail"]
    share = f", {counts['pass'] / played:.0%} of those played" if played else ""
    say(
        f"{len(outcomes)} scripts: {counts['pass']} passed{share}, {counts['fail']} failed, "
        f"{counts['skipped']} skipped, {counts['unreadable']} unreadable"
    )


def _literal(value: object) -> str:
    """Text of a script for a table, without effect on its style."""
    return "" if value is None else str(value).replace("[", r"\[")
