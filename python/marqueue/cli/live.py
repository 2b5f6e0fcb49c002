"""``marqueue live``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, progress_bar, say
from marqueue.cli.run import slug
from marqueue.place import refuse_place, whole
from marqueue.scenario import cautions

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
    directory = out or Path("results") / f"{slug(scenario.name)}-live"
    refuse_place(directory, force)
    for each in cautions(scenario):
        say(f"Warning: {each}")
    # What real packets need is loaded by whoever wants them.
    from marqueue.live.ending import signals_raise
    from marqueue.live.run import run_live

    with signals_raise(), progress_bar(f"{scenario.name}, live") as progress:
        result = run_live(scenario, law=law, ipv6=ipv6, progress=progress)
        with whole(directory) as fresh:
            result.save(fresh)
    if json:
        print_json(result.summary())
    else:
        output.print(result.table())
        output.print(f"Report: {directory / 'report.html'}", highlight=False, soft_wrap=True)
    complaints = (result.manifest.live or {}).get("complaints", [])
    for each in complaints:
        say(f"Error: invalid: {each}")
    if complaints:
        raise typer.Exit(INVALID)
