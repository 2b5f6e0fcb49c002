"""The section of a report about the fluid model beside the simulation."""

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
    """Adds warnings, errors, and figures of at most ``most_links`` links."""
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
        "Over the measured time. The window of packets follows from Little's law, for equal "
        "windows of all flows. RMS: root mean square over time of the model minus the mean of "
        "all replications. Within range: share of the time in which the model is within the "
        f"range of all replications. Equation for TCP: {overlay.fluid.source}; see "
        "docs/theory/fluid.md.",
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
