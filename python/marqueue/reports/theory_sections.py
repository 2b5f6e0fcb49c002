"""The section of a report about the fluid model beside the simulation."""

from __future__ import annotations

from dataclasses import replace

from marqueue.reports.builder import Cell, Report
from marqueue.reports.chart import Chart, ChartCurve, Choice
from marqueue.reports.curves import over_replications, replication_choice
from marqueue.reports.run_charts import MOST_LINKS_DRAWN, time_chart
from marqueue.results.fluid_overlay import QUANTITIES, Error, Overlay
from marqueue.results.quantities import axis_label
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


def theory(page: Report, overlay: Overlay) -> None:
    """Adds warnings, charts and errors."""
    page.section("Theory beside simulation")
    page.notes(overlay.fluid.warnings, "Where the fluid model may not hold")
    links = overlay.links[:MOST_LINKS_DRAWN]
    choices = [Choice("link", "Links", links, links[:1])]
    page.charts(_charts(overlay), [*choices, replication_choice(overlay.result.replications)])
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


def _charts(overlay: Overlay) -> list[Chart]:
    """A chart for each quantity: the packets of each link, and the model."""
    result = overlay.result
    links = overlay.links[:MOST_LINKS_DRAWN]
    charts = []
    for quantity, (label, unit) in QUANTITIES.items():
        having = [name for name in links if quantity in overlay.series[name]]
        curves: list[ChartCurve] = []
        for name in having:
            each, tags = overlay.series[name][quantity], {"link": name}
            curves += over_replications(each.times, each.packets, tags, "packets", floor=0.0)
            curves.append(ChartCurve(each.times, each.fluid, "fluid model", tags))
        if curves:
            title = f"{label}: fluid model and packets"
            charts.append(
                replace(time_chart(result, title, axis_label(label, unit), curves), floor=0.0)
            )
    return charts


def _row(link: str, quantity: str, error: Error) -> list[Cell]:
    label, unit = QUANTITIES[quantity]
    return [
        link,
        axis_label(label, unit),
        error.packets,
        Estimate(error.fluid, None, 1),
        f"{error.difference:+.3g}",
        "" if error.relative is None else f"{error.relative:+.1%}",
        f"{error.rms:.3g}",
        f"{error.within:.0%}",
    ]
