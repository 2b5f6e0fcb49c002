"""Options that several commands share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from marqueue.cli import complete
from marqueue.cli.console import say
from marqueue.errors import RunError
from marqueue.errors import show as quoted
from marqueue.programs.registry import files_read
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
        help="Scenario file in TOML, up to 64 MiB; - is standard input.",
        show_default=False,
        autocompletion=complete.scenario_files,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a value of the scenario (repeatable). Entries of lists are given by index, "
        "from 0, or by name.",
        show_default=False,
        autocompletion=complete.settings,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Override the seed.", show_default=False),
]
Realtime = Annotated[
    str,
    typer.Option(
        "--realtime",
        metavar="WAY",
        help="shared, or strict: isolate a processor for the link (control groups of version 2).",
    ),
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications",
        "-r",
        min=1,
        metavar="N",
        help="Number of replications; with --until, the largest number.",
        show_default=False,
    ),
]
Until = Annotated[
    list[str] | None,
    typer.Option(
        "--until",
        metavar="'FIGURE ±WIDTH'",
        help="Add replications until the half width of the figure's 95% interval is at most WIDTH, "
        f"which is in percent or in the figure's unit (repeatable; {FEWEST} to {MOST} "
        "replications). FIGURE is a figure of the only link, of all flows (jain), or NAME.FIGURE "
        "of a link, group or class. +- can be written for ±.",
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
        help="Number of replications at a time.",
        show_default="one per processor",
    ),
]

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Most threads of one replication; the result is the same.",
        show_default="the processors that replications leave, where they pay",
    ),
]


def out(default: str | bool, what: str = "Output directory.") -> Any:
    """The option --out with this default and help."""
    return typer.Option("--out", "-o", metavar="DIR", help=what, show_default=default)


Force = Annotated[bool, typer.Option("--force", help="Replace an existing result.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue from the checkpoints of an interrupted run, if there are any. The result is "
        "the same as without the interruption.",
    ),
]
Estimate = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Do not run it: predict packets, CPU time and memory from its first part (seconds), "
        "and leave nothing behind.",
    ),
]
Theory = Annotated[
    bool,
    typer.Option(
        "--theory",
        help="Also solve the fluid model of the scenario and compare it with the simulation; an "
        "error if the scenario is outside the model.",
    ),
]
MaxEvents = Annotated[
    int | None,
    typer.Option(
        "--max-events",
        min=1,
        metavar="N",
        help="End each replication after N events.",
        show_default=False,
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        help='End the run after this wall-clock time, such as "10 min".',
        show_default=False,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help='End the run when its memory exceeds this size, such as "4 GB".',
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON only.")]
PlainJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]

REPORT = "report.html"

RESULTS = Path("results")
"""The default parent directory of results."""


@contextmanager
def claimed(
    out: Path | None, name: str, force: bool, resume: bool = False
) -> Iterator[OutputDirectory]:
    """Claims the directory of --out, or by default the first free one of results/NAME,
    results/NAME-2, ... (with --force results/NAME). Raises RunError."""
    if out is not None or force:
        claiming = claim(out or RESULTS / name, replace=force, resume=resume)
    else:
        claiming = claim_next(RESULTS, name, resume=resume)
    with claiming as directory:
        if out is None:
            directory.link = RESULTS / LATEST
            if directory.shown != RESULTS / name:
                say(f"{RESULTS / name} is taken; the output goes to {directory.shown}.")
        reported = len(directory.notes)
        for note in directory.notes:
            say(note)
        yield directory
        for note in directory.notes[reported:]:
            say(note)


NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report: the data only.")]


def report_of(result: Result) -> Callable[[Path], object]:
    """A function that writes the report of a result into a directory."""
    from marqueue.reports import write_report

    return lambda directory: write_report(result, directory / REPORT)


def tell_where(directory: OutputDirectory) -> None:
    """Prints the path of the report, or of the directory if there is none."""
    has_report = (directory.path / REPORT).exists()
    also = f" (also {directory.link / (REPORT if has_report else '')})" if directory.link else ""
    where = f"Report: {directory.shown / REPORT}" if has_report else f"Result: {directory.shown}"
    print(f"{where}{also}")


LIMIT_REACHED = 3
"""Exit code if a limit ended a run and the result is partial."""


def scenario(
    file: Path, set_: Sequence[str] | None, seed: int | None, replications: int | None
) -> Scenario:
    """The scenario of a file with the overrides of options. Raises ScenarioError."""
    given = {"seed": seed, "replications": replications}
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    found = load(file, [*(set_ or ()), *overrides])
    note_programs()
    return found


def is_strict(realtime: str) -> bool:
    """Whether ``--realtime`` wants a processor for the link alone. Raises RunError if it is not one
    of its ways."""
    if realtime not in ("shared", "strict"):
        raise RunError(f"--realtime: got {quoted(realtime)}, expected shared or strict")
    return realtime == "strict"


def note_programs() -> None:
    """Says which files with programs have been read and run."""
    for each in files_read():
        say(f"Note: {each} is a program in Python. It can do whatever you can do.")


def limits(max_events: int | None, max_time: str | None, max_memory: str | None) -> Limits:
    """The limits from options. Raises RunError with the option, the value and what was expected."""
    try:
        option = "--max-time"
        seconds = None if max_time is None else Duration.parse(max_time).seconds
        option = "--max-memory"
        size = None if max_memory is None else Size.parse(max_memory).base
    except ValueError as error:
        raise RunError(f"{option}: {error}") from None
    return Limits(max_events, seconds, size)
