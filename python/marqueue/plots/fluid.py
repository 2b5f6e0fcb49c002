"""The fluid model over time, alone and on top of a simulation."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from marqueue.plots.style import panels
from marqueue.plots.timeseries import Curve, timeseries
from marqueue.results.fluid_overlay import QUANTITIES, Overlay
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.solution import Fluid


def fluid_figure(fluid: Fluid) -> Figure:
    """Draws queues, probabilities and windows over time, one panel each."""
    figure, (queue, probability, window) = panels(3, height=1.9)
    several = len(fluid.links) > 1

    def draw(axes: Any, quantity: str, unit: str, curves: list[tuple[str, Floats]]) -> None:
        named = [Curve(fluid.times, y, name) for name, y in curves]
        timeseries(named, quantity, unit, warmup=fluid.warmup, floor=0.0, axes=axes)
        axes.label_outer()

    links = [(name if several else "", link) for name, link in fluid.links.items()]
    draw(queue, "Queue", "packets", [(name, link.queue) for name, link in links])
    draw(probability, "Probability", "", [(name, link.probability) for name, link in links])
    draw(window, "Window", "packets", [(c.name, c.window) for c in fluid.classes.values()])
    return figure


def overlay_figure(overlay: Overlay, link: str | None = None) -> Figure:
    """Draws queue, probability and window of a link, one panel each: the first replication as a
    line, the range of all replications as a band, and the model."""
    result = overlay.result
    of = overlay.series[overlay.links[0] if link is None else link]
    figure, axes = panels(len(of), height=1.9)
    cuts = [result.edges[w] for w in result.measured[1:]]
    for panel, (quantity, each) in zip(axes, of.items(), strict=True):
        label, unit = QUANTITIES[quantity]
        curves = [
            Curve(each.times, each.packets, "packets"),
            Curve(each.times, each.fluid, "fluid model"),
        ]
        timeseries(curves, label, unit, warmup=result.warmup, cuts=cuts, floor=0.0, axes=panel)
        panel.label_outer()
    return figure
