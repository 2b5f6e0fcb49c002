"""The figure of docs/theory/buffer.md: models of the size of a buffer against packets, on the grid.

    python -m benches.buffer_grid [DIRECTORY]

Reads grid.json of the directory, which `make buffer-grid` measures, and writes grid.svg. By default
the directory is docs/theory/buffer.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from matplotlib.axes import Axes

from marqueue.plots import panels, svg
from marqueue.plots.style import legend, looks, themed
from marqueue.theory.buffer_sizing import predict
from marqueue.validation import buffers

HERE = Path("docs/theory/buffer")

#: Model and quantity: abscissa (buffer over C RTT / sqrt N), error and its half width.
Errors = dict[tuple[str, str], list[tuple[float, float, float]]]


def errors(stored: Path) -> Errors:
    """Measured minus stated utilization, and measured over stated loss, at each point where the
    model applies."""
    [rung] = json.loads(stored.read_text(encoding="utf-8"))["rungs"]
    measured = {each["what"]: each["figure"] for each in rung["checks"]}
    found: Errors = {}
    for point in buffers.grid():
        rtt, flows, packets = point
        link = buffers.demand(rtt, flows)
        for said in predict(link, packets):
            if said.value is None:
                continue
            quantity = said.model.quantity
            figure = measured[f"{buffers.place(*point)}: {quantity}"]
            mean, half = figure["mean"], figure["half_width"]
            if quantity == "loss":
                mean, half = mean / said.value, half / said.value
            else:
                mean -= said.value
            at = packets * math.sqrt(flows) / link.pipe
            found.setdefault((said.model.name, quantity), []).append((at, mean, half))
    return found


def marked(axes: Axes, errors: Errors, quantity: str) -> None:
    """The points of each model about one quantity."""
    models = [name for name, of in errors if of == quantity]
    for name, look in zip(models, looks(len(models)), strict=True):
        at, error, half = zip(*errors[name, quantity], strict=True)
        axes.errorbar(at, error, yerr=half, label=name, **look | {"linestyle": "none"})


def main(directory: Path) -> None:
    """Draws the stored grid."""
    found = errors(directory / "grid.json")
    with themed():
        figure, (utilization, loss) = panels(2)
        marked(utilization, found, "utilization")
        marked(loss, found, "loss")
        for axes, label, right in (
            (utilization, "Utilization, measured - stated", 0.0),
            (loss, "Loss, measured / square-root law", 1.0),
        ):
            axes.axhline(right, color="0.4", linewidth=0.8)
            axes.set_ylabel(label)
        utilization.set_xscale("log")
        loss.set_xlabel("Buffer over C RTT / sqrt(N)")
        legend(utilization)
        (directory / "grid.svg").write_text(svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
