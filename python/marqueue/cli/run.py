"""``marqueue run``."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import (
    announce_report,
    output,
    print_json,
    progress_bar,
    resumable,
    say,
    show_place,
    table,
)
from marqueue.extras import require
from marqueue.keep import Keep
from marqueue.place import refuse_place, whole
from marqueue.run import run as run_scenario
from marqueue.scenario import cautions

if TYPE_CHECKING:
    from marqueue.theory.fluid_model.overlay import Overlay


def run(
    file: options.File,
    set_: options.Set = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    until: options.Until = None,
    jobs: options.Jobs = None,
    max_events: options.MaxEvents = None,
    max_time: options.MaxTime = None,
    max_memory: options.MaxMemory = None,
    out: Annotated[Path | None, options.out("results/NAME")] = None,
    force: options.Force = False,
    resume: options.Resume = False,
    theory: options.Theory = False,
    json: options.Json = False,
) -> None:
    """Run a scenario; print a summary and write a result directory with a report.

    [bold]Examples[/bold]

    marqueue run scenarios/dumbbell.toml

    marqueue run scenarios/dumbbell.toml --set traffic.long.count=20 --seed 7

    marqueue run scenarios/dumbbell.toml --set topology.bottleneck.aqm=pie --out results/pie --json

    marqueue run scenarios/parking-lot.toml --theory

    marqueue run scenarios/dumbbell.toml --until 'utilization ±0.5%' --until 'delay_mean ±1 ms'

    Exit codes: 0 done, 2 a mistake that the message explains, 3 a limit was reached and the result
    is partial, 130 interrupted.
    """
    limits = options.limits(max_events, max_time, max_memory)
    scenario = options.scenario(file, set_, seed, replications)
    directory = out or Path("results") / slug(scenario.name)
    refuse_place(directory, force)
    for each in cautions(scenario):
        say(f"Warning: {each}")
    announce_report()
    if theory:
        require("theory", "--theory")
        from marqueue.theory.fluid_model.overlay import refuse_without_theory

        # A scenario outside the model is refused before it runs.
        refuse_without_theory(scenario)
    keep = Keep.beside(directory, resume, force)
    with progress_bar(scenario.name) as progress, resumable(keep):
        result = run_scenario(
            scenario,
            replications=replications,
            until=until or (),
            jobs=jobs,
            progress=progress,
            limits=limits,
            keep=keep,
        )
        if theory:
            result.add_theory()
        with whole(directory) as fresh:
            result.save(fresh)
    for each in result.theory.fluid.cautions if result.theory else ():
        say(f"Warning: fluid model: {each}")
    manifest = result.manifest
    if manifest.stopping and not manifest.stopping["met"]:
        say(f"Warning: {manifest.stopping_remark}")
    if manifest.partial_remark:
        say(f"Error: {manifest.partial_remark}")
    if json:
        print_json(result.summary())
    else:
        output.print(result.table())
        if result.theory is not None:
            show_theory(result.theory)
        show_place(directory)
    if not manifest.partial:
        keep.discard()
        return
    if keep.there:
        say(f"{keep.remark} (With --force, in place of this.)")
    raise typer.Exit(options.LIMIT_REACHED)


def show_theory(overlay: "Overlay") -> None:
    """How far the fluid model is from the simulation."""
    from marqueue.theory.fluid_model.overlay import QUANTITIES

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


def slug(name: str) -> str:
    """A name as the name of a directory: letters, digits and dashes."""
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-") or "scenario"
