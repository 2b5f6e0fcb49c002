"""``marqueue plot``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from marqueue.cli import options
from marqueue.errors import RunError
from marqueue.results.output_file import check_output_file

if TYPE_CHECKING:
    from marqueue.plots.queues import Series

FORMATS = ("svg", "png", "pdf")


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
            help="The file to write: .svg, .png or .pdf.",
            show_default=False,
        ),
    ],
    force: options.ForceFile = False,
) -> None:
    """Draw queues over time: rate or utilization, queue, delay, drops and marks.

    [bold]Examples[/bold]

    marqueue link --rate 10Mbit/s --json link.json -- iperf3 -c HOST

    marqueue plot link.json --out link.svg
    """
    if out.suffix.removeprefix(".") not in FORMATS:
        raise RunError(f"{out}: expected a name that ends in .{', .'.join(FORMATS)}")
    check_output_file(out, replace=force)
    links = _series_of_result(source) if source.is_dir() else _series_of_link(source)
    if not any(series.t.size for link in links.values() for series in link.values()):
        raise RunError(f'{source}: no time series, expected a run with sample, such as "100 ms"')
    # Loading fonts and matplotlib takes longer than reading the data.
    from marqueue.plots.figure_file import write_figure
    from marqueue.plots.queues import queues

    write_figure(queues(links), out)


def _series_of_result(directory: Path) -> "Mapping[str, Mapping[str, Series]]":
    from marqueue.plots.queues import Series
    from marqueue.results import Result

    result = Result.load(directory)
    links = {name: result.link(name) for name in result.links}
    return {
        name: {each: Series(*link.series(each), unit) for each, unit in link.units.items()}
        for name, link in links.items()
    }


def _series_of_link(path: Path) -> "Mapping[str, Mapping[str, Series]]":
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {link["name"]: _series(link["series"]) for link in data["links"]}
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RunError(f"{path}: expected a file of marqueue link --json") from None


def _series(data: Mapping[str, Any]) -> "dict[str, Series]":
    from marqueue.plots.queues import Series

    t = np.array(data["t"]["values"], dtype=float)
    found = {
        name: Series(t, np.array(each["values"], dtype=float), str(each["unit"]))
        for name, each in data.items()
        if name != "t"
    }
    if any(each.values.shape != t.shape for each in found.values()):
        raise ValueError("a series has not one value per time")
    return found
