"""``marqueue run``."""

import re
from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli.console import errors, output, print_json, progress_bar
from marqueue.place import refuse_place, whole
from marqueue.run import run as run_scenario
from marqueue.scenario import load
from marqueue.until import FEWEST, MOST


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario, in TOML.", show_default=False)
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Replace a value; may be given again. Lists take a number from 0 or a name.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Replace the scenario's seed.", show_default=False),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            "-r",
            min=1,
            metavar="N",
            help="How many replications; with --until, at most how many.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            "--until",
            metavar="'FIGURE ±WIDTH'",
            help="Add replications until the 95% interval of this figure of a link is that narrow "
            f"(from {FEWEST} to {MOST} of them); may be given again. Write FIGURE as LINK.FIGURE "
            "if there are several links, +- for ±, the width in percent or in the figure's unit.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="How many at a time.",
            show_default="one a processor",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The result directory.", show_default="results/NAME"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the result directory if it exists.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")
    ] = False,
) -> None:
    """Run a scenario; print a summary and write a result directory with a report.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell.toml

    marqueue run scenarios/dumbbell.toml --set traffic.long.count=20 --seed 7

    marqueue run scenarios/dumbbell.toml --set topology.bottleneck.aqm=pie --out results/pie --json

    marqueue run scenarios/dumbbell.toml --until 'utilization ±0.5%' --until 'delay_mean ±1 ms'

    Exit codes: 0 done, 2 a mistake that the message explains, 130 interrupted.
    """
    given = {"seed": seed, "replications": replications}
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    scenario = load(file, [*(set_ or ()), *overrides])
    directory = out or Path("results") / slug(scenario.name)
    refuse_place(directory, force)
    try:
        with progress_bar(scenario.name) as progress:
            result = run_scenario(
                scenario,
                replications=replications,
                until=until or (),
                jobs=jobs,
                progress=progress,
            )
        with whole(directory) as fresh:
            result.save(fresh)
    except KeyboardInterrupt:
        errors.print("Interrupted; nothing was written.")
        raise
    manifest = result.manifest
    if manifest.stopping and not manifest.stopping["met"]:
        warning = f"Warning: {manifest.stopping_remark}"
        errors.print(warning, markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(result.summary())
    else:
        output.print(result.table())
        output.print(f"Report: {directory / 'report.html'}", highlight=False, soft_wrap=True)


def slug(name: str) -> str:
    """A name as the name of a directory: letters, digits and dashes."""
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-") or "scenario"
