"""``marqueue recommend``."""

from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, print_table, progress_bar, table
from marqueue.recommend import Question, Recommendation
from marqueue.recommend import recommend as find
from marqueue.recommend.output import write
from marqueue.recommend.recommendation import FULL, QUICK, Judged, summary


def recommend(
    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the link.")],
    rtt: Annotated[
        str,
        typer.Option(metavar="LOW..HIGH", help="Round-trip times without queueing: 10..80ms."),
    ],
    flows: Annotated[
        str, typer.Option(metavar="LOW..HIGH", help="Number of users of the link: 5..200.")
    ],
    goal: Annotated[
        list[str],
        typer.Option(
            "--goal",
            metavar="'FIGURE < BOUND'",
            help="A goal (repeatable). FIGURE is a figure of the link (delay_p99, utilization), of "
            "all flows (jain), or KIND.FIGURE of a kind of traffic (web.fct_p95).",
        ),
    ],
    mix: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="Kinds of traffic, in equal parts: web (Poisson, Pareto sizes), video (a segment "
            "every 4 s), bulk (CUBIC without end).",
        ),
    ] = "web,video,bulk",
    ecn: Annotated[
        str,
        typer.Option(
            metavar="none|classic|l4s",
            help="What all senders know of ECN: nothing, a mark as a loss (CUBIC, RFC 3168), or "
            "the share of marks (Prague, RFC 9331).",
        ),
    ] = "none",
    aqm: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="The AQMs to try.", show_default="those of Linux"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter runs: at most about three CPU minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all runs.")] = 1,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None, options.out(False, "Directory for report, data, scenarios.")
    ] = None,
    force: options.Force = False,
    json: options.PlainJson = False,
) -> None:
    """Find an AQM for a link: which meet the goals over the ranges, how safely, and the tc command.

    Parameters come from marqueue design. Candidates are simulated at the corners and in the middle
    of the ranges. A goal is met if its 95% interval is on the right side of the bound.

    [bold]Example[/bold]

    marqueue recommend --rate '50 Mbit/s' --rtt 10..80ms --flows 5..200 --mix web,video,bulk
    --goal 'delay_p99 < 20 ms' --goal 'utilization > 0.95' --quick

    Exit codes: 0 an AQM meets all goals, 1 none is known to, 2 an error that the message explains,
    130 interrupted.
    """
    asked = Question.parse(rate, rtt, flows, mix, goal, ecn)
    names = None if aqm is None else [name.strip() for name in aqm.split(",")]

    def answer() -> Recommendation:
        with progress_bar("recommend") as progress:
            return find(
                asked,
                names,
                effort=QUICK if quick else FULL,
                seed=seed,
                jobs=jobs,
                progress=progress,
            )

    if out is None:
        found = answer()
        directory = None
    else:
        with options.claimed(out, "recommend", force) as directory:
            found = answer()
            with directory.staged() as fresh:
                write(found, fresh)
    if json:
        print_json(summary(found))
    else:
        _print(found)
        if directory is not None:
            options.tell_where(directory)
    if found.winner is None:
        raise typer.Exit(1)


def _print(found: Recommendation) -> None:
    goals = found.asked.goals
    listing = table("AQM", "verdict", *(f"{goal.text}: worst" for goal in goals), "least margin")
    for each in found.judged:
        listing.add_row(each.candidate.name, each.verdict, *_worst(each), f"{each.safety:.1%}")
    print_table(listing)
    say = _line
    say("")
    best = found.judged[0]
    name = best.candidate.name
    if found.winner:
        say(f"{name} meets all goals at all points; least margin {best.safety:.1%} of the way from "
            f"{best.least.text} to its best value.")  # fmt: skip
    elif best.verdict == "not decided":
        say(f"No AQM is known to meet all goals; {name} is not decided. More replications: without "
            "--quick.")  # fmt: skip
    else:
        say(f"No AQM meets all goals; {name} comes nearest.")
    say("Parameters: " + ", ".join(f"{k} = {v}" for k, v in best.candidate.aqm.items())
        + f"; buffer {best.candidate.buffer} packets ({best.candidate.origin}).")  # fmt: skip
    if found.commands is None:
        say(f"Linux has no {name}.")
    else:
        say("For Linux, on a device that is faster than the link:")
        for line in found.commands:
            say(f"  {line}")
    say("Not tried: " + "; ".join(_reasons(found.not_tried)) + ".")


def _worst(each: Judged) -> list[str]:
    cells = []
    for goal in each.goals:
        at = each.worst(goal)
        value = at.figures[goal.chosen].scaled(goal.chosen.figure.scale)
        cells.append(f"{value} {goal.chosen.figure.unit}".strip() + f" ({at.point.name})")
    return cells


def _reasons(not_tried: dict[str, str]) -> list[str]:
    """Names with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in not_tried.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"{', '.join(names)} ({reason})" for reason, names in by_reason.items()]


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)
