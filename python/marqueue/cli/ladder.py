"""Rungs of checks as work that ends in verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from marqueue.cli.judged import Work, run_and_show

if TYPE_CHECKING:
    from marqueue.validation import Effort
    from marqueue.validation.rung import Rung


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

    work = Work(
        what,
        do=lambda progress: climb(rungs, effort, jobs, progress),
        write=write_report,
        table=ladder_table,
        plain=lambda ladder: ladder.as_dict(),
        failed=lambda ladder: not ladder.passed,
    )
    run_and_show(work, out, force=force, json=json)
