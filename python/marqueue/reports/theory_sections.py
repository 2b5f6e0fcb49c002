"""The section of a report that has the fluid model beside the simulation."""

from __future__ import annotations

from marqueue.plots import style
from marqueue.plots.fluid import overlay_figure
from marqueue.reports.builder import Cell, Report
from marqueue.results.fluid_overlay import QUANTITIES, Error, Overlay
from marqueue.statistics.estimates import Estimate

COLUMNS = (
    "Link",
    "Mean over time",
    "Packets",
    "Fluid model",
    "Difference",
    "Relative",
    "RMS",
    "Within range",
)


def theory(page: Report, overlay: Overlay, most_links: int) -> None:
    """Adds warnings, errors, and a figure a link, of at most so many."""
    page.section("Theory beside simulation")
    page.notes(overlay.fluid.warnings, "Where the fluid model may not hold")
    rows = [
        _row(name, quantity, error)
        for name, of in overlay.errors.items()
        for quantity, error in of.items()
    ]
    page.table(
        COLUMNS,
        rows,
        "Over the measured time. Windows of packets are those that flows with equal windows have "
        "by Little's law. RMS: over time, of the model minus the mean of all replications. Within "
        "range: the part of the time at which the model is between the least and the greatest of "
        f"them. Equation for TCP: {overlay.fluid.source}; see docs/theory/fluid.md.",
    )
    for name in overlay.links[:most_links]:
        caption = f"The fluid model on top of the simulation at {name}."
        page.figure(overlay_figure(overlay, name), caption)


def _row(link: str, quantity: str, error: Error) -> list[Cell]:
    label, unit = QUANTITIES[quantity]
    return [
        link,
        style.label(label, unit),
        error.packets,
        Estimate(error.fluid, None, 1),
        f"{error.difference:+.3g}",
        "" if error.relative is None else f"{error.relative:+.1%}",
        f"{error.rms:.3g}",
        f"{error.within:.0%}",
    ]
