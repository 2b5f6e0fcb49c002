"""Options that several commands have."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from marqueue.cli import complete
from marqueue.cli.console import output, say
from marqueue.errors import RunError
from marqueue.extras import has
from marqueue.results import Result
from marqueue.results.output_directory import LATEST, OutputDirectory, claim, claim_next
from marqueue.scenario import Scenario, load
from marqueue.simulation.limits import Limits
from marqueue.simulation.stopping_rule import FEWEST, MOST
from marqueue.units import Duration, Size

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The scenario, in TOML, of up to 64 MiB; - for standard input.",
        show_default=False,
        autocompletion=complete.scenario_files,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Replace a value; may be given again. Lists take a number from 0 or a name.",
        show_default=False,
        autocompletion=complete.settings,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Replace the scenario's seed.", show_default=False),
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications",
        "-r",
        min=1,
        metavar="N",
        help="How many replications; with --until, at most how many.",
        show_default=False,
    ),
]
Until = Annotated[
    list[str] | None,
    typer.Option(
        "--until",
        metavar="'FIGURE ±WIDTH'",
        help="Add replications until the 95% interval of this figure is that narrow "
        f"(from {FEWEST} to {MOST} of them); may be given again. FIGURE is one of the only link, "
        "one of all flows (jain), or NAME.FIGURE of a link, group or class. Write +- for ± if you "
        "like; the width is in percent or in the figure's unit.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        metavar="N",
        help="How many replications at a time.",
        show_default="one a processor",
    ),
]


def out(default: str | bool, what: str = "The result directory.") -> Any:
    """Where a result goes, and where if nothing is said."""
    return typer.Option("--out", "-o", metavar="DIR", help=what, show_default=default)


Force = Annotated[
    bool, typer.Option("--force", help="Replace the result that is in the directory.")
]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue from what an interrupted run has completed, if there is any; the result is "
        "the same as without the interruption.",
    ),
]
Theory = Annotated[
    bool,
    typer.Option(
        "--theory",
        help="Solve the fluid model of the scenario too, and show it on top of the simulation; "
        "refused if the scenario is outside the model.",
    ),
]
MaxEvents = Annotated[
    int | None,
    typer.Option(
        "--max-events",
        min=1,
        metavar="N",
        help="Cut each replication off after so many events.",
        show_default=False,
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        help='End the run after so much time, such as "10 min".',
        show_default=False,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help='End the run when it takes so much memory, such as "4000 MB".',
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")]
PlainJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]

REPORT = "report.html"

RESULTS = Path("results")
"""Where results go if nothing else is said."""


@contextmanager
def claimed(
    out: Path | None, name: str, force: bool, resume: bool = False
) -> Iterator[OutputDirectory]:
    """Claims the directory of --out; without that option the first of results/NAME,
    results/NAME-2, ... that is free, or results/NAME with --force."""
    if out is not None or force:
        claiming = claim(out or RESULTS / name, replace=force, resume=resume)
    else:
        claiming = claim_next(RESULTS, name, resume=resume)
    with claiming as directory:
        if out is None:
            directory.link = RESULTS / LATEST
            if directory.shown != RESULTS / name:
                say(f"{RESULTS / name} is taken; the output goes to {directory.shown}.")
        told = len(directory.notes)
        for note in directory.notes:
            say(note)
        yield directory
        for note in directory.notes[told:]:
            say(note)


def report_of(result: Result) -> Callable[[Path], object] | None:
    """Writes the report of a result into a directory; None where its figures cannot be drawn."""
    if not has("plots"):
        return None
    # It brings fonts and drawing, which take longer than many a run.
    from marqueue.reports import write_report

    return lambda directory: write_report(result, directory / REPORT)


def tell_where(directory: OutputDirectory) -> None:
    """Prints where the report is, or the directory if there is none."""
    has_report = (directory.path / REPORT).exists()
    also = f" (also {directory.link / (REPORT if has_report else '')})" if directory.link else ""
    where = f"Report: {directory.shown / REPORT}" if has_report else f"Result: {directory.shown}"
    output.print(f"{where}{also}", highlight=False, soft_wrap=True)


LIMIT_REACHED = 3
"""Exit code where a limit ended a run, and the result is partial."""


def scenario(
    file: Path, set_: Sequence[str] | None, seed: int | None, replications: int | None
) -> Scenario:
    """The scenario of a file with everything that options replace in it."""
    given = {"seed": seed, "replications": replications}
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    return load(file, [*(set_ or ()), *overrides])


def limits(max_events: int | None, max_time: str | None, max_memory: str | None) -> Limits:
    """The limits as given; raises RunError with the option, the value and what was expected."""
    try:
        option = "--max-time"
        seconds = None if max_time is None else Duration.parse(max_time).seconds
        option = "--max-memory"
        size = None if max_memory is None else Size.parse(max_memory).base
    except ValueError as error:
        raise RunError(f"{option}: {error}") from None
    return Limits(max_events, seconds, size)
