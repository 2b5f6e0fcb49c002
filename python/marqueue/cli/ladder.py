"""Runs checks with their progress, and writes and prints them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from marqueue.cli import options
from marqueue.cli.console import ReportedInterrupt, output, print_json, progress_bar, say
from marqueue.results.provenance import here

if TYPE_CHECKING:
    from marqueue.validation import Effort
    from marqueue.validation.rung import Rung

WIDTH = 160
"""The least width of the table in columns."""


def climb_and_print(
    rungs: Sequence[Rung],
    effort: Effort,
    jobs: int | None,
    out: Path | None,
    *,
    force: bool,
    json: bool,
    what: str,
) -> None:
    """Runs the checks of these rungs; ``what`` names the work in the progress. Raises typer.Exit
    with code 1 if some failed or are unclear."""
    # Slow to import.
    from marqueue.validation import climb, ladder_table, write_report

    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    with options.claimed(out, "", force) if out else nullcontext() as directory:
        try:
            with progress_bar(what) as progress:
                ladder = climb(rungs, effort, jobs, progress)
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
