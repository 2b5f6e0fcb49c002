"""``marqueue theory fluid``."""

from typing import TYPE_CHECKING

from marqueue.cli import options
from marqueue.cli.console import output, say, table
from marqueue.cli.theory.model_options import Plot, SourceName, answer
from marqueue.theory.fluid.solution import Fluid
from marqueue.theory.fluid.solution import solve_fluid as solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fluid(
    file: options.File,
    set_: options.Set = None,
    source: SourceName = "reno",
    plot: Plot = None,
    json: options.PlainJson = False,
) -> None:
    """Solve the fluid model of a scenario: delay differential equations of queues, probabilities
    and windows. For a scenario outside the model, the error lists every violated assumption.

    Example: marqueue theory fluid scenarios/parking-lot.toml --plot fluid.svg
    """
    answer(solve, _show, _draw, file, set_, source, plot, json)


def _show(found: Fluid) -> None:
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
    for each in found.warnings:
        say(f"Warning: {each}")


def _draw(found: Fluid) -> "Figure":
    # Matplotlib takes longer to load than a model to solve.
    from marqueue.plots.fluid import fluid_figure

    return fluid_figure(found)
