"""``marqueue theory chokew``."""

from typing import Annotated, Any, get_args

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, table
from marqueue.errors import ScenarioError
from marqueue.scenario import load
from marqueue.theory.chokew.from_scenario import Law, solve_scenario
from marqueue.theory.chokew.model import Equilibrium


def chokew(
    file: options.File,
    set_: options.Set = None,
    law: Annotated[
        str,
        typer.Option(
            metavar="sqrt|pftk|pairs",
            help="TCP's rate at a given loss: the paper's square root law; with timeouts (Padhye "
            "et al. 2000); with timeouts, and each matched pair counted as one loss.",
        ),
    ] = "pftk",
    queue: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="PACKETS",
            help="Length of the queue.",
            show_default="L+, above which p0 rises",
        ),
    ] = None,
    json: options.PlainJson = False,
) -> None:
    """Solve the model of CHOKeW for a scenario: the shares of the link.

    Example: marqueue theory chokew scenarios/chokew.toml --json
    """
    laws: dict[str, Law] = {each: each for each in get_args(Law)}
    if law not in laws:
        expected = f"expected one of {', '.join(laws)}"
        raise typer.BadParameter(f"got {law!r}, {expected}", param_hint="--law")
    scenario = load(file, set_ or [])
    try:
        solved = solve_scenario(scenario, laws[law], queue)
    except ScenarioError as error:
        raise ScenarioError(error.problems, str(file)) from None
    if json:
        print_json(_plain(solved))
        return
    output.print(
        f"p0 = {solved.p0:.4g}, queue {solved.queue:g} packets, waiting time "
        f"{solved.waiting_time:.4g} s",
        highlight=False,
    )
    listing = table(
        "flows", "count", "weight", "p", "starved from", "r", "q", "sent (1/s)", "delivered (1/s)"
    )
    for share in solved.shares:
        numbers = (
            share.drawing_factor,
            share.starvation_bound,
            share.matching_probability,
            share.dropping_probability,
            share.sent,
            share.delivered,
        )
        listing.add_row(
            share.flows.name,
            str(share.flows.count),
            f"{share.flows.weight:g}",
            *(f"{x:.4g}" for x in numbers),
        )
    output.print(listing)


def _plain(solved: Equilibrium) -> dict[str, Any]:
    return {
        "p0": solved.p0,
        "queue_packets": solved.queue,
        "waiting_time_s": solved.waiting_time,
        "flows": [
            {
                "name": share.flows.name,
                "kind": share.flows.kind,
                "count": share.flows.count,
                "weight": share.flows.weight,
                "drawing_factor": share.drawing_factor,
                "starvation_bound": share.starvation_bound,
                "matching_probability": share.matching_probability,
                "dropping_probability": share.dropping_probability,
                "sent_packets_per_s": share.sent,
                "delivered_packets_per_s": share.delivered,
                "starved": share.starved,
            }
            for share in solved.shares
        ],
    }
