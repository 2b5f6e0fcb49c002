"""The report of a sweep: each figure of a link against the values, and a table of all points."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.figure

from marqueue.plot import bars
from marqueue.plot import sweep as curves
from marqueue.report import command
from marqueue.report.builder import Cell, Report
from marqueue.stats import Estimate
from marqueue.sweep import FIGURES, Measured, Sweep

#: More curves than these cannot be told apart; the tables must do.
MOST_CURVES = 12


def sweep_report(swept: Sweep, figures: Sequence[str]) -> Report:
    """The report, with these figures of links."""
    partial = " (partial)" if swept.partial_remark else ""
    page = Report(swept.scenario.name + partial, swept.scenario.description, _byline(swept))
    page.notes(filter(None, [swept.partial_remark]), "A limit ended this sweep")
    page.section("What was asked")
    page.table(["Replaced", "By"], [[axis.path, ", ".join(axis.values)] for axis in swept.axes])
    page.notes(_warnings(swept))
    page.section("Figures")
    for link in swept.links:
        for name in figures:
            drawn = _figure(swept, link, name)
            if drawn:
                caption = f"{FIGURES[name].label} at {link}, with 95% confidence intervals."
                page.figure(drawn, caption)
    page.section("Points")
    for link in swept.links:
        heads = [axis.path for axis in swept.axes]
        titles = [FIGURES[name].title for name in figures]
        page.table(
            ["Point", *heads, *titles],
            [_row(each, link, figures) for each in swept.points],
            f"Link {link}, over the measured time. All figures are in figures.csv and "
            "figures.parquet; each point is a result in a directory of its own, "
            f"{swept.points[0].directory} and so on.",
        )
    page.section("How to reproduce this")
    page.text("Save the scenario below as scenario.toml, and run it with the same version:")
    page.code(command.of_sweep(swept, figures))
    page.code(swept.scenario.to_toml(), "scenario.toml", folded=True)
    return page


def _byline(swept: Sweep) -> str:
    counts = sorted({each.summary["replications"] for each in swept.points})
    replications = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return (
        f"{len(swept.points)} points of {replications} replications with common random numbers: "
        f"seed {swept.scenario.seed} at every point. ± is the half width of the 95% confidence "
        f"interval of a point by itself. marqueue {swept.points[0].summary['version']}."
    )


def _warnings(swept: Sweep) -> list[str]:
    """What a reader must know of all points, or of some."""
    said: dict[str, list[int]] = {}
    for each in swept.points:
        for warning in each.summary["warnings"]:
            said.setdefault(warning, []).append(each.point.number)
    return [
        warning
        if len(numbers) == len(swept.points)
        else f"Point {', '.join(map(str, numbers))}: {warning}"
        for warning, numbers in said.items()
    ]


def _row(measured: Measured, link: str, figures: Sequence[str]) -> list[Cell]:
    shown = [measured.estimate(link, name).scaled(FIGURES[name].scale) for name in figures]
    return [str(measured.point.number), *measured.point.values, *shown]


def _figure(swept: Sweep, link: str, name: str) -> matplotlib.figure.Figure | None:
    """A figure against the first axis; the others make a curve each of their values."""
    first, *others = swept.axes
    figure = FIGURES[name]
    nothing = Estimate(float("nan"), None, 0)
    lines: dict[str, dict[str, Estimate]] = {}
    for each in swept.points:
        place, *rest = each.point.values
        label = ", ".join(
            f"{axis.name} = {value}" for axis, value in zip(others, rest, strict=True)
        )
        estimate = each.estimate(link, name).scaled(figure.scale)
        lines.setdefault(label, {})[place] = estimate
    if len(lines) > MOST_CURVES or not any(e.n for line in lines.values() for e in line.values()):
        return None
    series = {
        label: [line.get(value, nothing) for value in first.values] for label, line in lines.items()
    }
    if first.places is None:
        drawn = bars(first.values, series, figure.label, figure.unit)
        drawn.axes[0].set_xlabel(first.path)
        return drawn
    x, unit = first.places
    variable = f"{first.path} [{unit}]" if unit else first.path
    return curves(x, series, variable, figure.label, figure.unit)
