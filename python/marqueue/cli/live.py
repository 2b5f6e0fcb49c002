"""``marqueue live``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import (
    announce_report,
    output,
    print_json,
    progress_bar,
    say,
)
from marqueue.cli.run import slug
from marqueue.scenario import Scenario, scenario_warnings

INVALID = 4
"""Exit code where the machine did not keep up, and the result is not to be trusted."""


def live(
    file: options.File,
    set_: options.Set = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    law: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Window law of every flow, as the kernel calls it, such as bbr.",
            show_default="those of the scenario",
        ),
    ] = None,
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="Packets of IPv6, as large as the scenario's.")
    ] = False,
    out: Annotated[Path | None, options.out("results/NAME-live")] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Run a scenario with real TCP flows, in real time (needs root and iperf3).

    The network of the scenario, with its queues, is between two network namespaces; Linux sends.
    The result has the format of those of marqueue run: compare the two.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell-avq.toml -o sim

    marqueue live scenarios/dumbbell-avq.toml -o live --json

    marqueue compare sim live -o sim-live.html

    Exit codes: 0 done, 2 a mistake that the message explains, 4 the machine did not keep up and the
    result is marked as invalid, 130 interrupted, 128 and its number after another signal.
    """
    scenario = options.scenario(file, set_, seed, replications)
    for each in scenario_warnings(scenario):
        say(f"Warning: {each}")
    announce_report()
    say(announcement(scenario))
    # What real packets need is loaded by whoever wants them.
    from marqueue.live.run import run_live
    from marqueue.live.termination import signals_raise

    with (
        signals_raise(),
        options.claimed(out, f"{slug(scenario.name)}-live", force) as directory,
        progress_bar(f"{scenario.name}, live") as progress,
    ):
        result = run_live(scenario, law=law, ipv6=ipv6, progress=progress)
        with directory.staged() as fresh:
            result.write_files(fresh, options.report_of(result))
    if json:
        print_json(result.summary())
    else:
        output.print(result.table())
        options.tell_where(directory)
    invalid_reasons = (result.provenance.live or {}).get("invalid_reasons", [])
    for each in invalid_reasons:
        say(f"Error: invalid: {each}")
    if invalid_reasons:
        raise typer.Exit(INVALID)


def announcement(scenario: Scenario) -> str:
    """How many replications there will be, and how long they take."""
    number = scenario.replications
    minutes, seconds = divmod(round(scenario.duration.seconds * number), 60)
    time = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    if number == 1:
        return f"1 replication in real time: {time}, and a few seconds to set up."
    return (
        f"{number} replications of {scenario.duration}, one after the other in real time: {time}, "
        "and a few seconds to set up each. --replications 1 is a first look."
    )
