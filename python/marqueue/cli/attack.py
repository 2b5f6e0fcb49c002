"""``marqueue attack``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.attack import Attack, Setting
from marqueue.attack import attack as find
from marqueue.attack.output import CHOICES, HARMS, chosen, harms, write
from marqueue.attack.search import summary
from marqueue.attack.traffic import read_aqm, read_fixed
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
    out: Annotated[
        Path | None, options.out(False, "Directory for report, data and scenarios.")
    ] = None,
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
    listing = table(*HARMS)
    for row in harms(found):
        listing.add_row(*row)
    output.print(listing)
    _line("")
    listing = table(*CHOICES)
    for choice in chosen(found):
        listing.add_row(*choice)
    output.print(listing)


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)
