"""``marqueue theory linearize``."""

from typing import TYPE_CHECKING

from marqueue.cli import options
from marqueue.cli.console import output, table
from marqueue.cli.theory.model_options import Plot, SourceName, answer
from marqueue.theory.linear.model import Linearized
from marqueue.theory.linear.model import linearize as of_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Number of roots that are printed.
SHOWN = 6


def linearize(
    file: options.File,
    set_: options.Set = None,
    source: SourceName = "reno",
    plot: Plot = None,
    json: options.PlainJson = False,
) -> None:
    """Linearize the fluid model of a scenario at its equilibrium: characteristic roots, and gain,
    phase and delay margins, without approximating delays. For a scenario outside the model, the
    error lists every violated assumption.

    Example: marqueue theory linearize scenarios/parking-lot.toml --plot linear.svg
    """
    answer(of_scenario, _show, _draw, file, set_, source, plot, json)


def _show(found: Linearized) -> None:
    rest = found.equilibrium.to_dict()
    listing = table("link", "queue (packets)", "marked", "lost", "arrivals (packets/s)", "capacity")
    for name, link in rest["links"].items():
        numbers = [link[key] for key in (
            "queue_packets", "probability", "loss", "arrivals_packets_per_s",
            "capacity_packets_per_s",
        )]  # fmt: skip
        listing.add_row(name, *(f"{x:.4g}" for x in numbers))
    output.print(listing)
    output.print()
    listing = table("flows", "window (packets)", "rate (packets/s)", "round trip (ms)")
    for name, each in rest["classes"].items():
        row = each["window_packets"], each["rate_packets_per_s"], 1e3 * each["rtt_s"]
        listing.add_row(name, *(f"{x:.4g}" for x in row))
    output.print(listing)
    output.print()
    shown = ", ".join(f"{z.real:.4g}{z.imag:+.4g}j" for z in found.roots[:SHOWN])
    verdict = "Stable" if found.stable else "Unstable"
    _say(f"{verdict}; rightmost roots: {shown} 1/s; damping {found.damping:.3g}.")
    if found.resting:
        _say("At the limit of its range: " + ", ".join(found.resting) + ".")
    margins = found.margins()
    if margins is not None:
        _say(
            f"Margins: gain {margins.gain:.4g}, phase {margins.phase:.4g} degrees at "
            f"{margins.gain_crossover:.4g} rad/s, delay {margins.delay * 1e3:.4g} ms."
        )
    elif not found.signals:
        _say("No margins: no link gives a signal that depends on its state.")
    else:
        _say("No margins: the loop is unstable.")


def _say(text: str) -> None:
    output.print(text, highlight=False, soft_wrap=True)


def _draw(found: Linearized) -> "Figure":
    # Matplotlib takes longer to load than a model to solve.
    from marqueue.plots.frequency_response import loop_figure

    return loop_figure(found)
