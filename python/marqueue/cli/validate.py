"""``marqueue validate``."""

import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marqueue.cli import options
from marqueue.cli.console import ReportedInterrupt, output, print_json, progress_bar, say
from marqueue.errors import MarqueueError, RunError, unknown
from marqueue.results.provenance import here

WIDTH = 160
"""The least width of the table in columns."""


def validate(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="RUNG",
            help="Run only these rungs, with commas between them (repeatable).",
            show_default="all",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and shorter runs: about two minutes.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="Number of parallel threads.",
            show_default="one per processor",
        ),
    ] = None,
    out: Annotated[Path | None, options.out(False, "Write a report with figures to DIR.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DIR if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON only.")] = False,
) -> None:
    """Check the simulator against theory, ns-2, ns-3, published measurements and Linux.

    Each check has a measured figure with its confidence interval, the expected value with its
    source, a tolerance with its reason, and a verdict.

    [bold]Examples[/bold]

    marqueue validate --quick

    marqueue validate --only loss-laws --out results/validation

    Exit codes: 0 all passed, 1 some failed, 2 an error that the message explains, 130 interrupted.
    """
    # Slow to import, and not needed for help.
    from marqueue.validation import RUNGS, Effort, climb, ladder_table, write_report

    names = [name for given in only or () for name in given.split(",")]
    for name in names:
        if name not in RUNGS:
            raise MarqueueError(f"--only: {unknown(name, RUNGS)}")
        if reason := RUNGS[name].missing():
            raise RunError(f"--only {name}: {reason}")
    chosen = [rung for name, rung in RUNGS.items() if not names or name in names]
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    with options.claimed(out, "", force) if out else nullcontext() as directory:
        try:
            with progress_bar("validate") as progress:
                ladder = climb(chosen, Effort.QUICK if quick else Effort.FULL, jobs, progress)
        except KeyboardInterrupt:
            say("Interrupted. Nothing was written.")
            raise ReportedInterrupt from None
        if directory:
            with directory.staged() as fresh:
                made = here(started_at, time.perf_counter() - started, time.process_time(), 0)
                write_report(ladder, made, fresh)
    if json:
        print_json(ladder.as_dict())
    else:
        Console(width=max(output.width, WIDTH)).print(ladder_table(ladder))
        if directory:
            options.tell_where(directory)
    if not ladder.passed:
        raise typer.Exit(1)
