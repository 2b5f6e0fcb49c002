"""``marqueue plot``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from marqueue.cli import options
from marqueue.cli.console import output
from marqueue.errors import MarqueueError, RunError, unknown
from marqueue.extras import require
from marqueue.results.output_file import check_output_file, write_output_file
from marqueue.results.quantities import axis_label, series_label, shown_unit
from marqueue.statistics.estimates import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from marqueue.reports.chart import Chart
    from marqueue.reports.for_print import PrintStyle


def plot(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A result directory, or a file of marqueue link --json.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write: .pdf, .svg or .png. The drawn values go beside it, as .csv.",
            show_default=False,
        ),
    ],
    figure: Annotated[
        str,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="overview (rate or utilization, queue, delay, drops and marks), one of these "
            "(queue, delay_p99, ...), a variable of the AQM, cdf (of the queueing delay), "
            "queue-histogram, goodput-cdf, fct-cdf; cwnd, rtt, flow-rate, rto of traced flows; "
            "map-utilization, map-signals, map-delay of a network. "
            "A wrong name lists those of the result.",
        ),
    ] = "overview",
    link: Annotated[
        list[str] | None,
        typer.Option("--link", metavar="NAME", help="A link (repeatable).", show_default="all"),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="FLOW",
            help="A traced flow by its number or name (repeatable).",
            show_default="the first",
        ),
    ] = None,
    replication: Annotated[
        str | None,
        typer.Option(
            metavar="N|mean",
            help="A replication, or the mean over all with its 95% interval, which hides "
            "oscillations.",
            show_default="the first",
        ),
    ] = None,
    style: Annotated[
        str,
        typer.Option(
            metavar="STYLE", help="ieee, acm (widths and type of their journals) or talk (16:9)."
        ),
    ] = "ieee",
    width: Annotated[
        str, typer.Option(metavar="WIDTH", help="column, or page for the whole width.")
    ] = "column",
    force: options.ForceFile = False,
) -> None:
    """Draw a figure of a result for print, with its values beside it as CSV.

    [bold]Examples[/bold]

    marqueue plot results/dumbbell --figure queue --out queue.pdf

    marqueue plot results/dumbbell --figure cdf --style acm --width page --out delay.svg

    marqueue plot results/dumbbell --figure cwnd --flow 0 --flow 1 --style talk --out cwnd.png

    marqueue plot results/backbone --figure map-utilization --out map.pdf

    marqueue link --rate 10Mbit/s --json link.json -- iperf3 -c HOST

    marqueue plot link.json --out link.svg
    """
    require("plots", "The command plot")
    # Loading fonts and matplotlib takes longer than reading the data.
    from marqueue.reports.for_print import FORMATS, STYLES, WIDTHS, file_of

    file_format = out.suffix.removeprefix(".")
    if file_format not in FORMATS:
        raise RunError(f"{out}: expected a name that ends in .{', .'.join(FORMATS)}")
    for name, given, known in (("style", style, STYLES), ("width", width, WIDTHS)):
        if given not in known:
            raise MarqueueError(f"--{name}: {unknown(given, known)}")
    data = out.with_suffix(".csv")
    for each in (out, data):
        check_output_file(each, replace=force)
    choices = {
        "link": link or (),
        "flow": flow or (),
        "replication": [replication] if replication else (),
    }
    look = STYLES[style]
    drawn, values = _drawn(source, figure, choices, look, width)
    # The figure comes last: where it is, its data are.
    image = file_of(drawn, look, file_format)
    write_output_file(data, values)
    write_output_file(out, image)
    output.print(f"{out}, {data}", highlight=False, soft_wrap=True)


def _drawn(
    source: Path, name: str, choices: Mapping[str, Sequence[str]], look: "PrintStyle", width: str
) -> "tuple[Figure, str]":
    """A figure by its name, and its values as CSV."""
    from marqueue.reports.for_print import draw, thinned, values
    from marqueue.reports.network_print import MAPS, draw_network, network_values
    from marqueue.reports.print_choice import chosen_charts, chosen_curves, refuse_choices
    from marqueue.reports.run_charts import run_charts
    from marqueue.results import Result
    from marqueue.results.network_map import network_map

    result = Result.load(source) if source.is_dir() else None
    network = None if result is None else network_map(result)
    if network is not None and name in MAPS:
        refuse_choices(choices)
        return draw_network(network, MAPS[name], look, width), network_values(network)
    charts = _of_link(source) if result is None else run_charts(result)
    chosen = chosen_charts(charts, name, source, () if network is None else MAPS)
    curves = thinned(chosen_curves(chosen, choices))
    return draw(curves, look, width), values(curves)


def _of_link(path: Path) -> "Sequence[Chart]":
    """The charts of a file of marqueue link --json. Raises RunError if it is none."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        links = {link["name"]: _series(link["series"]) for link in told["links"]}
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RunError(f"{path}: expected a file of marqueue link --json") from None
    return list(_charts(links))


Series = dict[str, tuple[Floats, Floats, str]]
"""Times (s), values and unit of each series of a link."""


def _series(told: Mapping[str, Any]) -> Series:
    t = np.array(told["t"]["values"], dtype=float)
    found = {
        name: (t, np.array(each["values"], dtype=float), str(each["unit"]))
        for name, each in told.items()
        if name != "t"
    }
    if any(y.shape != t.shape for _, y, _ in found.values()):
        raise ValueError("a series has not one value per time")
    return found


def _charts(links: Mapping[str, Series]) -> "Iterator[Chart]":
    """A chart for each series, with a curve for each link."""
    from marqueue.reports.chart import Chart, ChartCurve
    from marqueue.reports.run_charts import ONLY_IF_ANY, TIME

    for name in dict.fromkeys(name for of in links.values() for name in of):
        having = {link: of[name] for link, of in links.items() if name in of}
        unit, scale = shown_unit(next(iter(having.values()))[2])
        if any(y.any() for _, y, _ in having.values()) or (
            name not in ONLY_IF_ANY and any(y.size for _, y, _ in having.values())
        ):
            label = axis_label(series_label(name), unit)
            curves = [
                ChartCurve(t, y * scale, tags={"link": link}) for link, (t, y, _) in having.items()
            ]
            yield Chart(label, TIME, label, curves, over_time=True, floor=0.0, name=name)
