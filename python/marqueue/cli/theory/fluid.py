"""``marqueue theory fluid``."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, say, table
from marqueue.errors import RunError
from marqueue.scenario import load
from marqueue.theory.fluid_model.fluid import Fluid
from marqueue.theory.fluid_model.fluid import fluid as solve
from marqueue.theory.fluid_model.of_scenario import Source


def fluid(
    file: options.File,
    set_: options.Set = None,
    source: Annotated[
        str,
        typer.Option(
            metavar="|".join(get_args(Source)),
            help="The equation for TCP: of Misra, Gong and Towsley, whose round trips grow with "
            "queues, as published or with marks at the peak of a sawtooth; of the AVQ paper or of "
            "the DRQ paper, whose round trips are constant.",
        ),
    ] = "reno",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it, as SVG or PNG.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """Solve the fluid model of a scenario: queues, probabilities and windows over time as
    differential equations with delays. A scenario outside its assumptions is refused with each of
    them that it breaks.

    Example: marqueue theory fluid scenarios/parking-lot.toml --plot fluid.svg
    """
    known: dict[str, Source] = {each: each for each in get_args(Source)}
    if source not in known:
        expected = f"expected one of {', '.join(known)}"
        raise typer.BadParameter(f"got {source!r}, {expected}", param_hint="--source")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise typer.BadParameter(
            f"got '{plot}', expected FILE.svg or FILE.png", param_hint="--plot"
        )
    found = solve(load(file, set_ or []), known[source])
    if plot is not None:
        _draw(found, plot)
    if json:
        print_json(found.to_dict())
        return
    means = found.means()
    listing = table("link", "queue", "± std", "delay (ms)", "probability", "utilization")
    for name, link in means["links"].items():
        shown = [link["queue_mean_packets"], link["queue_std_packets"], 1e3 * link["delay_mean_s"]]
        shown += [link["probability_mean"], link["utilization"]]
        listing.add_row(name, *(f"{x:.4g}" for x in shown))
    output.print(listing)
    output.print()
    listing = table("flows", "window (packets)", "rate (packets/s)", "round trip (ms)")
    for name, each in means["classes"].items():
        shown = [each["window_mean_packets"], each["rate_mean_packets_per_s"]]
        listing.add_row(name, *(f"{x:.4g}" for x in (*shown, 1e3 * each["rtt_mean_s"])))
    output.print(listing)
    for each in found.cautions:
        say(f"Warning: {each}")


def _draw(found: Fluid, file: Path) -> None:
    # Matplotlib takes longer to load than the model to solve.
    from marqueue.plot import svg

    figure = found.plot()
    try:
        if file.suffix == ".svg":
            file.write_text(svg(figure), encoding="utf-8")
        else:
            figure.savefig(file, dpi=150, facecolor="white")
    except OSError as error:
        raise RunError(f"--plot: got '{file}', which cannot be written: {error.strerror}") from None
