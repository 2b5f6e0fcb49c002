"""``marqueue run``."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import print_json, progress_bar, resumable, say, show, table
from marqueue.extras import require
from marqueue.results import Result
from marqueue.results.output_directory import LATEST, OutputDirectory
from marqueue.scenario import Scenario, on_kernel, plan_text, scenario_warnings
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.limits import NO_LIMITS, Limits
from marqueue.simulation.replication_threads import why_one_thread
from marqueue.simulation.run import run as run_scenario

if TYPE_CHECKING:
    from marqueue.results.fluid_overlay import Overlay


def run(
    file: options.File,
    set_: options.Set = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts",
            metavar="KERNEL",
            help="End all TCP flows in this kernel instead of models (marqueue kernel list).",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    until: options.Until = None,
    jobs: options.Jobs = None,
    threads: options.Threads = None,
    max_events: options.MaxEvents = None,
    max_time: options.MaxTime = None,
    max_memory: options.MaxMemory = None,
    out: Annotated[Path | None, options.out("results/NAME")] = None,
    force: options.Force = False,
    resume: options.Resume = False,
    theory: options.Theory = False,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="FORMAT",
            help="Also write what the scenario traces as qlog, qlog-0.3 (for qvis) or perfetto "
            "(repeatable; marqueue trace does so later, and for a part).",
            show_default=False,
        ),
    ] = None,
    no_report: options.NoReport = False,
    estimate: options.Estimate = False,
    json: options.Json = False,
) -> None:
    """Run a scenario: print a summary and write a result directory with a report.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell.toml

    marqueue run scenarios/dumbbell.toml --set traffic.long.count=20 --seed 7

    marqueue run scenarios/dumbbell.toml --set topology.bottleneck.aqm=pie --out results/pie --json

    marqueue run scenarios/parking-lot.toml --theory

    marqueue run scenarios/first.toml --hosts linux-7.3

    marqueue run scenarios/dumbbell.toml --set duration='1 h' --set replications=20 --estimate

    marqueue run scenarios/dumbbell.toml --until 'utilization ±0.5%' --until 'delay_mean ±1 ms'

    Exit codes: 0 success, 1 a kernel failed, 2 an error that the message explains, 3 a limit was
    reached and the result is partial, 130 interrupted.
    """
    limits = options.limits(max_events, max_time, max_memory)
    scenario = options.scenario(file, set_, seed, replications)
    if hosts is not None:
        scenario, remarks = on_kernel(scenario, hosts)
        for each in remarks:
            say(f"Warning: {each}")
    for each in scenario_warnings(scenario):
        say(f"Warning: {each}")
    write = _writer(no_report, _trace_writer(scenario, trace or ()))
    if estimate:
        from marqueue.cli.cost import Reading, print_cost
        from marqueue.simulation.cost import predict

        reading = Reading.so_far()
        cost = predict(
            scenario,
            replications=replications,
            until=until or (),
            jobs=jobs,
            threads=threads,
            limits=limits,
            write=write,
        )
        print_cost(cost, reading, json)
        return
    if threads is not None:
        _say_why_one_thread(scenario, threads, limits)
    if theory:
        require("theory", "--theory")
        from marqueue.results.fluid_overlay import refuse_without_theory

        # Before the run, so that an error costs no time.
        refuse_without_theory(scenario)
    with options.claimed(out, slug(scenario.name), force, resume) as output_directory:
        checkpoints = Checkpoints.beside(output_directory.shown, resume, force, say)
        with progress_bar(scenario.name) as progress, resumable(checkpoints):
            result = run_scenario(
                scenario,
                replications=replications,
                until=until or (),
                jobs=jobs,
                threads=threads,
                progress=progress,
                limits=limits,
                checkpoints=checkpoints,
            )
            if theory:
                result.add_theory()
            with output_directory.staged() as fresh:
                write(result, fresh)
        if not result.partial:
            checkpoints.discard()
    _print_result(result, output_directory, json)
    if result.partial:
        if checkpoints.exists:
            say(checkpoints.remark)
        raise typer.Exit(options.LIMIT_REACHED)


def _say_why_one_thread(scenario: Scenario, threads: int, limits: Limits) -> None:
    """Says why a replication has one thread where more were asked for."""
    reason = why_one_thread(plan_text(scenario), threads)
    if threads > 1 and limits != NO_LIMITS:
        reason = "a limit is set"
    if reason:
        say(f"Each replication has one thread, since {reason}.")


Traces = Callable[[Result, Path], object]


def _trace_writer(scenario: Scenario, formats: Sequence[str]) -> Traces | None:
    """A function that writes traces of a result into its directory. Raises RunError, before the
    run, if they would be empty."""
    if not formats:
        return None
    # Few runs write traces.
    from marqueue.traces.files import check_format, refuse_untraced, write_into_result

    for each in formats:
        check_format("--trace", each)
    refuse_untraced(scenario, formats)
    return lambda result, folder: write_into_result(result, folder, formats)


def _writer(no_report: bool, traces: Traces | None) -> Callable[[Result, Path], None]:
    """A function that writes a result into a directory, with what is not data."""

    def write(result: Result, directory: Path) -> None:
        report = None if no_report else options.report_of(result)

        def add(folder: Path) -> None:
            if report is not None:
                report(folder)
            if traces is not None:
                traces(result, folder)

        result.write_files(directory, add)

    return write


def _print_result(result: Result, directory: OutputDirectory, json: bool) -> None:
    """Prints warnings, and the summary or the table of a result."""
    for each in result.theory.fluid.warnings if result.theory else ():
        say(f"Warning: fluid model: {each}")
    provenance = result.provenance
    if provenance.stopping and not provenance.stopping["met"]:
        say(f"Warning: {provenance.stopping_remark}")
    for each in provenance.circumstances.slow_programs:
        say(f"Warning: {each}")
    if provenance.partial_remark:
        say(f"Error: {provenance.partial_remark}")
    if json:
        print_json(result.summary())
    else:
        show(result.table())
        if result.theory is not None:
            show_theory(result.theory)
        options.tell_where(directory)


def show_theory(overlay: "Overlay") -> None:
    """Prints the error of the fluid model."""
    from marqueue.cli.console import output
    from marqueue.results.fluid_overlay import QUANTITIES

    listing = table("link", "mean over time", "packets", "fluid model", "difference")
    for link, of in overlay.errors.items():
        for quantity, error in of.items():
            label, unit = QUANTITIES[quantity]
            relative = "" if error.relative is None else f" ({error.relative:+.1%})"
            listing.add_row(
                link,
                f"{label} ({unit})" if unit else label,
                str(error.packets),
                f"{error.fluid:.4g}",
                f"{error.difference:+.3g}{relative}",
            )
    output.print(listing)


LONGEST_SLUG = 50
"""Characters; each can take four bytes in a file name."""


def slug(name: str) -> str:
    """The name of a directory for a scenario: letters, digits and dashes."""
    text = re.sub(r"[^\w]+", "-", name.lower())[:LONGEST_SLUG].strip("-") or "scenario"
    # The link to the newest result has this name.
    return f"scenario-{text}" if text == LATEST else text
