"""``marqueue validate``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.ladder import climb_and_print
from marqueue.errors import MarqueueError, RunError, unknown


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
    from marqueue.validation import RUNGS, Effort

    names = [name for given in only or () for name in given.split(",")]
    for name in names:
        if name not in RUNGS:
            raise MarqueueError(f"--only: {unknown(name, RUNGS)}")
        if reason := RUNGS[name].missing():
            raise RunError(f"--only {name}: {reason}")
    chosen = [rung for name, rung in RUNGS.items() if not names or name in names]
    effort = Effort.QUICK if quick else Effort.FULL
    climb_and_print(chosen, effort, jobs, out, force=force, json=json, what="validate")
