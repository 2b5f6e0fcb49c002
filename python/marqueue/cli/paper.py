"""``marqueue paper``: reproductions of papers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from marqueue.cli import complete, options
from marqueue.cli.console import output, print_json, progress_bar, resumable, say, table
from marqueue.errors import MarqueueError, unknown
from marqueue.extras import require
from marqueue.papers import PAPERS
from marqueue.papers.paper import MOST, QUICK, Form
from marqueue.papers.readings import MAIN, choices
from marqueue.simulation.checkpoints import Checkpoints

if TYPE_CHECKING:
    from marqueue.papers.reproduction import Reproduction
    from marqueue.results.output_directory import OutputDirectory

paper = typer.Typer(no_args_is_help=True)


@paper.command("list")
def paper_list() -> None:
    """List the papers and their experiments."""
    listing = table("paper", "experiment", "description")
    for key, each in PAPERS.items():
        listing.add_row(f"[bold]{key}[/bold]", "", each.title)
        for number, about in each.experiments.items():
            listing.add_row("", number, about)
    output.print(listing)


@paper.command("run", no_args_is_help=True)
def paper_run(
    key: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="A key of: marqueue paper list.",
            autocompletion=complete.papers,
        ),
    ],
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="The experiments to run.",
            show_default="all",
            autocompletion=complete.experiments,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Fewer replications, and some runs shorter: faster, with wider intervals.",
        ),
    ] = False,
    readings: Annotated[
        str,
        typer.Option(
            "--readings",
            metavar="WHICH",
            help="How to read what the paper leaves open: main; all, which is the main way and "
            "each alternative, one at a time with all others at their main value; or "
            "NAME=VALUE[,NAME=VALUE...].",
            autocompletion=complete.readings,
        ),
    ] = MAIN,
    most_replications: Annotated[
        int | None,
        typer.Option(
            "--most-replications",
            metavar="N",
            help="Set-ups whose comparisons are not decided, under any reading that is asked for, "
            "run again with twice the replications, until they are decided or have N.",
            show_default=f"{MOST}; with --quick {QUICK}",
        ),
    ] = None,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None, options.out("results/paper-PAPER", "Output directory of the report.")
    ] = None,
    force: options.Force = False,
    resume: options.Resume = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print quantities and verdicts as JSON only."),
    ] = False,
) -> None:
    """Reproduce a paper's experiments; print a verdict for each claim and write a report.

    Example: marqueue paper run avq 1 2 --quick
    """
    require("papers", "The command paper run")
    if key not in PAPERS:
        raise MarqueueError(f"paper: {unknown(key, PAPERS)}")
    chosen = list(dict.fromkeys(experiments or PAPERS[key].experiments))
    for each in chosen:
        if each not in PAPERS[key].experiments:
            raise MarqueueError(f"experiment of {key}: {unknown(each, PAPERS[key].experiments)}")
    form = Form(quick, readings, most_replications)
    if most_replications is not None and most_replications < form.first:
        raise MarqueueError(
            f"--most-replications: got {most_replications}, expected at least {form.first}, with "
            f"which the {'quick' if quick else 'full'} form begins"
        )
    # A wrong reading is told before the directory is claimed.
    choices(PAPERS[key].readings, chosen, readings)
    # Matplotlib takes longer to load than other commands take to run.
    from marqueue.papers.run import run_paper

    with options.claimed(out, f"paper-{key}", force, resume) as directory:
        checkpoints = Checkpoints.beside(directory.shown, resume, force, say)
        with progress_bar(f"{key} {' '.join(chosen)}") as progress, resumable(checkpoints):
            for each in chosen:
                say(f"Running experiment {each} of {key}: {PAPERS[key].experiments[each]}.")
            result = run_paper(
                PAPERS[key], chosen, form, directory, jobs, progress, checkpoints, say
            )
        checkpoints.discard()
    if json:
        print_json(result.summary())
    else:
        _print(result, directory)


def _print(result: "Reproduction", directory: "OutputDirectory") -> None:
    """Prints verdicts and where the report is."""
    output.print(result.sentence, highlight=False, soft_wrap=True)
    output.print()
    output.print(result.table())
    output.print()
    options.tell_where(directory)
    output.print(
        "It has the figures, the criterion of each verdict, and the reasons why claims fail.",
        highlight=False,
        soft_wrap=True,
    )
    # An experiment of theory alone has no set-ups.
    for setup in sorted((directory.shown / "scenarios").glob("*.toml"))[:1]:
        output.print(
            f"To run a single set-up: marqueue run {setup}", highlight=False, soft_wrap=True
        )
