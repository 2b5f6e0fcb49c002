"""``marqueue live``."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import print_json, progress_bar, say, show
from marqueue.cli.run import slug
from marqueue.scenario import Scenario, scenario_warnings

INVALID = 4
"""Exit code if the machine did not keep up, so that the result is invalid."""

MEASURED = 1.0
"""How long the machine is measured before a run, s."""


def live(
    file: options.File,
    set_: options.Set = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    law: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Window law of every flow, by its name in the kernel, such as bbr.",
            show_default="those of the scenario",
        ),
    ] = None,
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="Use IPv6, with packets of the same size.")
    ] = False,
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Run a replication again, up to N times, if the machine did not keep up.",
        ),
    ] = 0,
    realtime: options.Realtime = "shared",
    out: Annotated[Path | None, options.out("results/NAME-live")] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Run a scenario with real TCP flows, in real time (needs root and iperf3).

    The emulated network of the scenario connects two network namespaces, in which Linux sends and
    receives. The result has the same format as that of marqueue run, so the two can be compared.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell-avq.toml -o sim

    marqueue live scenarios/dumbbell-avq.toml -o live --json

    marqueue compare sim live -o sim-live.html

    Exit codes: 0 success, 2 an error that the message explains, 4 the machine did not keep up and
    the result is invalid, 130 interrupted, 128 + N after signal N.
    """
    strict = options.is_strict(realtime)
    scenario = options.scenario(file, set_, seed, replications)
    for each in scenario_warnings(scenario):
        say(f"Warning: {each}")
    say(announcement(scenario, retries))
    # Slow to import, and not needed for help.
    from marqueue.live.isolation import isolated_processor
    from marqueue.live.machine import Timers
    from marqueue.live.run import run_live
    from marqueue.live.termination import signals_raise

    timers = None if strict else Timers.measure(MEASURED)
    if timers:
        say(f"Machine: {timers.in_words()}")
    with (
        signals_raise(),
        isolated_processor() if strict else nullcontext() as own,
        options.claimed(out, f"{slug(scenario.name)}-live", force) as directory,
        progress_bar(f"{scenario.name}, live") as progress,
    ):
        result = run_live(
            scenario,
            law=law,
            ipv6=ipv6,
            progress=progress,
            timers=timers,
            own=own,
            retries=retries,
        )
        with directory.staged() as fresh:
            result.write_files(fresh, options.report_of(result))
    if json:
        print_json(result.summary())
    else:
        show(result.table())
        options.tell_where(directory)
    for number, audit in enumerate((result.provenance.live or {}).get("audits", ())):
        if again := audit["retries"]:
            say(f"Replication {number} was run again {_times(again)}: the machine had not kept up.")
    for each in (result.provenance.live or {}).get("remarks", ()):
        say(f"Warning: {each}")
    invalid_reasons = (result.provenance.live or {}).get("invalid_reasons", [])
    for each in invalid_reasons:
        say(f"Error: invalid: {each}")
    if invalid_reasons:
        raise typer.Exit(INVALID)


def announcement(scenario: Scenario, retries: int = 0) -> str:
    """The number of replications and their duration, as a sentence."""
    again = f" Each is run again if the machine does not keep up, {_times(retries)} at most."
    return _duration(scenario) + (again if retries else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _duration(scenario: Scenario) -> str:
    number = scenario.replications
    minutes, seconds = divmod(round(scenario.duration.seconds * number), 60)
    time = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    if number == 1:
        return f"1 replication in real time: {time}, plus a few seconds for setup."
    return (
        f"{number} replications of {scenario.duration}, one after the other in real time: {time}, "
        "plus a few seconds for setup of each. --replications 1 runs a single one."
    )
