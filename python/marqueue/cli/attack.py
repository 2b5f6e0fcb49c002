"""``marqueue attack``."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from marqueue.attack import Attack, Setting
from marqueue.attack import attack as find
from marqueue.attack.output import write
from marqueue.attack.search import choices, summary
from marqueue.attack.traffic import PARAMETERS, read_aqm, read_fixed
from marqueue.cli import options
from marqueue.cli.console import output, print_json, progress_bar, table
from marqueue.errors import RunError
from marqueue.units import Rate


def attack(
    aqm: Annotated[
        str,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]", help="The AQM, such as droptail or codel:target=5ms."
        ),
    ],
    goal: Annotated[
        str,
        typer.Option(
            metavar="GOAL", help="What to harm: utilization, delay, starvation, synchronization."
        ),
    ] = "utilization",
    budget: Annotated[
        int, typer.Option(metavar="N", help="Runs in all, at most; about 25 a CPU second.")
    ] = 600,
    share: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The attacker's mean rate, at most, of the link."),
    ] = 0.1,
    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the link.")] = "10 Mbit/s",
    buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="Buffer, in packets or bytes.")
    ] = "100 packets",
    victims: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Number of victims.")
    ] = 5,
    ecn: Annotated[bool, typer.Option("--ecn", help="Let the victims use ECN.")] = False,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            "--fix",
            metavar="NAME=VALUE",
            help="Take a choice from the attacker, in the unit of its bounds: rtt=0.05 "
            "(repeatable).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of search and runs.")] = 1,
    jobs: options.Jobs = None,
    out: Annotated[Path | None, options.out(False, "Directory for data and scenarios.")] = None,
    force: options.Force = False,
    json: options.PlainJson = False,
) -> None:
    """Search for the worst traffic of an AQM: bursts of UDP, round trips and starts, within bounds.

    The attacker's mean rate is bounded. The worst traffic is measured with fresh seeds, compared
    with random traffic within the same bounds, and minimized.

    [bold]Examples[/bold]

    marqueue attack --aqm droptail -o results/shrew

    marqueue attack --aqm codel --goal delay --share 0.3 --budget 300 --json
    """
    setting = Setting(
        read_aqm(aqm),
        rate=_rate(rate),
        buffer=buffer,
        victims=victims,
        share=share,
        ecn=ecn,
        fixed=read_fixed(fix or ()),
    )

    def answer() -> Attack:
        with progress_bar("attack") as progress:
            return find(setting, goal, budget=budget, seed=seed, jobs=jobs, progress=progress)

    directory = None
    if out is None:
        found = answer()
    else:
        with options.claimed(out, "attack", force) as directory:
            found = answer()
            with directory.staged() as fresh:
                write(found, fresh)
    if json:
        print_json(summary(found))
        return
    _print(found)
    if directory is not None:
        options.tell_where(directory)


def _rate(text: str) -> float:
    try:
        value = float(Rate.parse(text).base)
    except ValueError as error:
        raise RunError(f"--rate: {error}") from None
    if value <= 0:
        raise RunError(f"--rate: got {text!r}, expected a rate above 0")
    return value


def _print(found: Attack) -> None:
    name = found.setting.aqm["name"]
    _line(f"Worst traffic found for {name} in {found.runs} runs; harm is the {found.goal.title}.")
    listing = table("", "harm")
    listing.add_row("this attack, fresh seeds", str(found.harm))
    listing.add_row("the victims alone", str(found.without))
    median, high = np.quantile(found.random, [0.5, 0.95])
    listing.add_row(
        f"random traffic within the bounds ({len(found.random)})",
        f"median {median:.3g}, p95 {high:.3g}, worst {found.random.max():.3g}",
    )
    output.print(listing)
    _line("")
    chosen = table("choice", "worst, minimized", "as found", "bounds", "unit")
    worst, first = choices(found.worst), choices(found.found.within(found.setting.share))
    for each in PARAMETERS:
        bounds = f"{each.low:g} to {each.high:g}" if each.name != "ecn" else "not-ect, ect, ect1"
        if each.name in found.setting.fixed:
            bounds = "fixed"
        values = (v if isinstance(v := of[each.name], str) else f"{v:.4g}" for of in (worst, first))
        chosen.add_row(each.name, *values, bounds, each.unit)
    chosen.add_row("mean rate", f"{worst['mean_rate']:.4g}", f"{first['mean_rate']:.4g}",
                   f"at most {found.setting.share:g}", "of the link")  # fmt: skip
    output.print(chosen)


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)
