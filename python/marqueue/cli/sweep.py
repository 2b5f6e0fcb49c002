"""``marqueue sweep``."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import complete, options
from marqueue.cli.console import (
    print_json,
    print_table,
    progress_bar,
    resumable,
    say,
    terminal_width,
)
from marqueue.cli.run import slug
from marqueue.errors import RunError
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.cluster.choice import ClusterChoice
from marqueue.simulation.limits import Limits
from marqueue.simulation.sweep import ReportWriter, SweepRequest, early_processes, sweep_into
from marqueue.simulation.sweep_result import DEFAULT_FIGURES
from marqueue.simulation.sweep_table import sweep_table


def sweep(
    file: options.File,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="'PATH=V1,V2,...'",
            help="Run the scenario with each of these values (repeatable: all combinations). PATH "
            "is as for --set.",
            show_default=False,
            autocompletion=complete.settings,
        ),
    ] = None,
    set_: options.Set = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="FIGURE",
            help="A figure to print and to plot (repeatable): delay_p99 of every link, jain of all "
            "flows, or NAME.FIGURE of a link, group or class. The files have all figures.",
            show_default=", ".join(DEFAULT_FIGURES),
        ),
    ] = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    until: options.Until = None,
    jobs: options.Jobs = None,
    max_events: options.MaxEvents = None,
    max_time: options.MaxTime = None,
    max_memory: options.MaxMemory = None,
    out: Annotated[Path | None, options.out("results/sweep-NAME")] = None,
    force: options.Force = False,
    resume: options.Resume = False,
    no_report: options.NoReport = False,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="CLUSTER",
            help="Run each point as a job of slurm or ray. All machines share the file system of "
            "--out; --jobs is the number of threads of a job (1).",
            show_default="threads of this machine",
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            metavar="KEY=VALUE",
            help="A setting of --on (repeatable). slurm: as sbatch has them, such as "
            "partition=long, time=30 (minutes), mem=4GB, account=NAME, array_parallelism=100. "
            "ray: address=HOST:PORT, num_cpus=N.",
            show_default=False,
        ),
    ] = None,
    estimate: options.Estimate = False,
    json: options.Json = False,
) -> None:
    """Run a scenario over a grid of values; write a result for each point, a table and a report.

    All points run in parallel and have the same seeds (common random numbers).

    [bold]Examples[/bold]

    marqueue sweep scenarios/dumbbell.toml --over traffic.long.count=20,40,60,80

    marqueue sweep scenarios/dumbbell.toml --over 'topology.bottleneck.buffer=50 packets,90 packets'
    --over topology.bottleneck.aqm=red,pie,codel --figure delay_p99 --figure utilization

    marqueue sweep scenarios/dumbbell.toml --over traffic.long.count=20,40,60,80 --on slurm
    --cluster partition=short --cluster time=30

    marqueue sweep scenarios/dumbbell.toml --over traffic.long.count=20,40,60,80 --estimate

    Exit codes: 0 success, 2 an error that the message explains, 3 a limit was reached and the
    result is partial, 130 interrupted.
    """
    limits = options.limits(max_events, max_time, max_memory)
    choice = _cluster(on, cluster or (), limits)

    def requested() -> SweepRequest:
        scenario = options.scenario(file, set_, seed, replications)
        figures = figure or DEFAULT_FIGURES
        return SweepRequest.of(scenario, over or (), replications, until or (), figures)

    if estimate:
        _print_estimate(requested(), jobs, limits, json)
        return
    with ExitStack() as stack:
        processes = stack.enter_context(early_processes(over or (), jobs, limits, choice))
        request = requested()
        scenario = request.scenario
        output_directory = stack.enter_context(
            options.claimed(out, f"sweep-{slug(scenario.name)}", force, resume)
        )
        checkpoints = Checkpoints.beside(output_directory.shown, resume, force, say)
        with progress_bar(scenario.name) as progress, resumable(checkpoints):
            report = None if no_report else _write_report(request)
            swept = sweep_into(
                output_directory,
                checkpoints,
                request,
                jobs,
                progress,
                limits,
                report,
                choice,
                processes,
            )
        if not swept.stopped:
            checkpoints.discard()
    if swept.partial_remark:
        say(f"Error: {swept.partial_remark}")
    if json:
        print_json(swept.summary())
    else:
        print_table(sweep_table(swept, request.figures, terminal_width()))
        options.tell_where(output_directory)
    if swept.stopped:
        say(checkpoints.remark)
    if swept.partial_remark:
        raise typer.Exit(options.LIMIT_REACHED)


def _print_estimate(request: SweepRequest, jobs: int | None, limits: Limits, json: bool) -> None:
    """Predicts what the sweep will cost."""
    from marqueue.cli.cost import Reading, print_sweep_cost
    from marqueue.simulation.sweep_cost import predict_sweep

    reading = Reading.so_far()
    with progress_bar(request.scenario.name) as progress:
        cost = predict_sweep(request, jobs=jobs, limits=limits, progress=progress)
    print_sweep_cost(cost, reading, json)


def _cluster(on: str | None, settings: Sequence[str], limits: Limits) -> ClusterChoice | None:
    """The cluster of options. Raises RunError with the option, the value and what was expected."""
    if on is None:
        if settings:
            raise RunError(f"--cluster: got {settings[0]} without --on, expected slurm or ray")
        return None
    choice = ClusterChoice.parse(on, settings)
    choice.refuse(limits)
    return choice


def _write_report(request: SweepRequest) -> ReportWriter:
    """A function that writes the report of a sweep."""
    from marqueue.reports import write_sweep_report

    return lambda swept, directory: write_sweep_report(swept, directory, request.figures)
