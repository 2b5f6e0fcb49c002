"""``marqueue theory mkc``: max-min Kelly control and related laws as maps, and their theory."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marqueue.cli.console import output, print_json, say, table
from marqueue.cli.options import PlainJson
from marqueue.cli.theory import mkc_options as options
from marqueue.cli.theory import mkc_output as show
from marqueue.errors import ModelError
from marqueue.results.output_file import write_output_files
from marqueue.theory.mkc import (
    Aimd,
    Kelly,
    Loss,
    Mkc,
    StabilityWarning,
    Virtual,
    convergence,
    equilibrium,
    iterate,
    lossfree,
)
from marqueue.theory.mkc.equilibrium import FixedPoint
from marqueue.theory.mkc.laws import Law
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Power
from marqueue.theory.mkc.report import report as report_of
from marqueue.theory.mkc.summary import rows

mkc = typer.Typer()


@mkc.callback(invoke_without_command=True)
def numbers(context: typer.Context, json: PlainJson = False) -> None:
    """Analyse max-min Kelly control (MKC, EMKC), classic Kelly control, AIMD and rate-based
    Scalable TCP as maps of rates with delays. Time is in control steps; with D = 1 the price
    answers the latest rate. Without a command: the numbers of the paper and those computed here.

    Example: marqueue theory mkc stability --law kelly --kappa 0.5 --sources 1 --delay 4
    """
    if context.invoked_subcommand is not None:
        return
    found = rows()
    if json:
        print_json([{"name": r.name, "paper": list(r.paper), "here": list(r.here)} for r in found])
        return
    listing = table("", "paper", "here")
    for row in found:
        listing.add_row(
            row.name, *(", ".join(f"{x:.6g}" for x in of) for of in (row.paper, row.here))
        )
    output.print(listing)


@contextmanager
def _remarks() -> Iterator[None]:
    """Prints warnings on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StabilityWarning)
        yield
    for message in dict.fromkeys(str(each.message) for each in caught):
        say(f"Warning: {message}")


@options.command(mkc, "trajectory", options.DELAYED)
def trajectory(
    system: options.System,
    start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATE",
            help="Initial rate: one for all sources, or one for each (repeatable).",
            show_default="10 kbit/s",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=0, metavar="N", help="Number of steps.")] = 200,
    jitter: Annotated[
        int,
        typer.Option(metavar="STEPS", help="Largest extra delay of feedback, drawn at each step."),
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.")] = 1,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the rates.", show_default=False)
    ] = None,
    json: PlainJson = False,
) -> None:
    """Compute rates step by step.

    Example: marqueue theory mkc trajectory --capacity "10 Gbit/s" --alpha "200 Mbit/s" --delay 1
    --jitter 99 --start "1 Gbit/s" --start "5 Gbit/s" --steps 3000 --figure emkc.svg
    """
    network = system.network
    rates = [options.rate(f"start[{i}]", text) for i, text in enumerate(start or [options.ALPHA])]
    with _remarks():
        done = iterate(network, system.law, system.price, rates, steps, jitter=jitter, seed=seed)
    if figure is not None:
        show.draw(done, network, figure)
    if json:
        print_json(show.plain_trajectory(done))
        return
    if done.diverged is not None:
        output.print(f"Diverged at step {done.diverged}.")
    show.print_rates(done.rates[-1], done.watched, f"rate at step {steps} (bit/s)")
    show.print_resources(network, done.arrivals[-1], done.prices[-1])
    output.print(f"min x / max x = {done.fairness[-1]:.6g}", highlight=False)


@options.command(mkc, "fixed-point", options.UNDELAYED)
def fixed_point(
    system: options.System,
    json: PlainJson = False,
) -> None:
    """Compute the stationary rates on any routes.

    Example (Figure 3 of the paper): marqueue theory mkc fixed-point --law kelly --kappa 0.1
    --omega "5 Mbit/s" --capacity "30 Mbit/s" --capacity "20 Mbit/s" --capacity "20 Mbit/s"
    --capacity "15 Mbit/s" --route 0,1 --route 1,2,3
    """
    network = system.network
    point = _point(network, system.law, system.price)
    if json:
        print_json(show.plain_point(point))
        return
    everyone = tuple(range(network.sources))
    show.print_rates(point.rates[:20], everyone[:20], "rate (bit/s)", point.bottleneck)
    if network.sources > 20:
        output.print(f"... and {network.sources - 20} more", highlight=False)
    show.print_resources(network, point.arrivals, point.prices, point.loss)


@options.command(mkc, "stability", options.DELAYED)
def stability(
    system: options.System,
    json: PlainJson = False,
) -> None:
    """Check the stability: sufficient conditions, and the exact boundary.

    Example: marqueue theory mkc stability --law kelly --kappa 0.5 --sources 2 --delay 3,8
    """
    with _remarks():
        report = report_of(system.network, system.law, system.price)
    if json:
        print_json(show.plain_report(report))
        return
    listing = table("condition", "from", "largest value", "of its bound", "holds", "kind")
    for each in report.conditions:
        worst = int(np.argmax(each.values / each.high))
        cells = f"{each.values[worst]:.6g}", f"{each.high[worst]:.6g}"
        listing.add_row(each.name, each.source, *cells, "yes" if each.holds else "no", each.kind)
    output.print(listing)
    exact = "" if report.radius is None else f" (spectral radius {report.radius:.8g})"
    output.print(f"Exact, with these delays: {report.verdict}{exact}", highlight=False)
    if report.scale is not None:
        output.print(
            f"Exact boundary: {report.scale:.5g} times this {report.gain}; sufficient condition: "
            f"{report.allowed:.5g} times",
            highlight=False,
        )
    for resource, verdict in report.any_delay:
        output.print(f"Resource {resource}: {verdict}", highlight=False, soft_wrap=True)


@mkc.command("convergence")
def fairness(
    capacity: Annotated[str, typer.Option(metavar="RATE", help="Rate of the link.")] = "1 Mbit/s",
    sources: Annotated[
        int, typer.Option("--sources", "-n", metavar="N", help="Number of sources.")
    ] = 2,
    alpha: Annotated[str, typer.Option(metavar="RATE", help="Increase per step.")] = options.ALPHA,
    beta: Annotated[
        float, typer.Option(metavar="GAIN", help="Gain of EMKC, and share by which AIMD decreases.")
    ] = options.BETA,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Rates are fair if min x / max x is at least 1 - epsilon."
        ),
    ] = 0.1,
    json: PlainJson = False,
) -> None:
    """Compute the steps of EMKC and AIMD from the most unfair rates to epsilon-fairness.

    Example: marqueue theory mkc convergence --capacity "1 Mbit/s" --sources 2 --epsilon 0.01
    """
    c, a = options.rate("--capacity", capacity), options.rate("--alpha", alpha)
    Network.single(c, max(sources, 1))
    each: dict[str, dict[str, Any]] = {}
    with _remarks():
        for name, law in (("emkc", Mkc(a, beta)), ("aimd", Aimd(a, beta))):
            if name == "aimd" and not 0 < beta < 1:
                continue
            formula = convergence.steps_mkc if name == "emkc" else convergence.steps_aimd
            each[name] = {
                "theory_steps": formula(c, sources, a, beta, epsilon),
                "iterated_steps": convergence.iterated_steps(law, c, sources, epsilon),
            }
    if json:
        print_json(each)
        return
    listing = table("law", "theory (steps)", "iterated (steps)")
    for name, row in each.items():
        found = row["iterated_steps"]
        listing.add_row(
            name, f"{row['theory_steps']:.1f}", "never" if found is None else str(found)
        )
    output.print(listing)


@mkc.command("figures")
def draw_figures(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The output directory.", show_default=False)
    ],
) -> None:
    """Draw Figures 1 and 4 to 8 of the paper, steady loss over N, and sufficient conditions beside
    the exact boundary.

    Example: marqueue theory mkc figures docs/theory/mkc
    """
    # Matplotlib takes longer to load than other commands take to run.
    from marqueue.plots import svg
    from marqueue.plots.mkc import mkc_figures

    figures = mkc_figures()
    write_output_files(folder, {f"{name}.svg": svg(each) for name, each in figures.items()})


def _point(network: Network, law: Law, price: Loss | Virtual | Power) -> FixedPoint:
    match law, price:
        case Mkc(), Virtual():
            return lossfree.fixed_point(network, law, price)
        case Mkc(), Loss() | Power():
            return equilibrium.mkc_fixed_point(network, law, price)
        case Kelly(), Loss() | Power():
            return equilibrium.kelly_fixed_point(network, law, price)
    raise ModelError(
        f"--law: got {law.name} with this price, expected mkc, or kelly with loss or power: others "
        "have no stationary rates"
    )
