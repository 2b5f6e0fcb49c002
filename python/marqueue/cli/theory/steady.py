"""``marqueue theory steady``."""

from typing import Annotated, get_args

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, table
from marqueue.scenario import load
from marqueue.theory.steady_state.model import steady as solve
from marqueue.theory.steady_state.price_controlled import LAWS
from marqueue.theory.tcp.windows import LawName


def steady(
    file: options.File,
    set_: options.Set = None,
    law: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(get_args(LawName)),
            help="TCP's rate at a share of losses or marks.",
            show_default="ecn if all links mark, else pftk",
        ),
    ] = None,
    json: options.PlainJson = False,
) -> None:
    """Solve for the steady state of long flows of TCP, or under the prices of mkc: queues, shares
    of losses or marks, and rates beside the proportionally fair and the max-min fair ones.

    Example: marqueue theory steady scenarios/parking-lot.toml --law pftk
    """
    known: dict[str, LawName] = {each: each for each in get_args(LawName)}
    if law is not None and law not in known:
        expected = f"expected one of {', '.join(known)}"
        raise typer.BadParameter(f"got {law!r}, {expected}", param_hint="--law")
    found = solve(load(file, set_ or []), None if law is None else known[law])
    if json:
        print_json(found.to_dict())
        return
    whose = "flows that follow prices" if found.law in LAWS else "TCP"
    output.print(f"Law of {whose}: {found.law}.", highlight=False)
    listing = table("link", "queue (packets)", "lost or marked", "utilization")
    for link in found.links.values():
        numbers = link.queue, link.probability, link.utilization
        listing.add_row(link.name, *(f"{x:.4g}" for x in numbers))
    output.print(listing)
    output.print()
    listing = table(
        "flows", "count", "lost or marked", "window (packets)", "rate (packets/s)",
        "round trip (ms)", "proportionally fair", "max-min",
    )  # fmt: skip
    for each in found.classes.values():
        fair = ("-" if x is None else f"{x:.4g}" for x in (each.proportionally_fair, each.max_min))
        row = each.count, each.probability, each.window, each.rate, 1e3 * each.rtt
        listing.add_row(each.name, *(f"{x:.4g}" for x in row), *fair)
    output.print(listing)
