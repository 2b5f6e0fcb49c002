"""The report of a sweep: a plot of each figure over the swept values, and a table of all points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib.figure

from marqueue.plots import bars
from marqueue.plots import sweep as curves
from marqueue.reports import reproduction_command
from marqueue.reports.builder import Cell, Report
from marqueue.results import ChosenFigure
from marqueue.simulation.sweep_result import DEFAULT_FIGURES, MeasuredPoint, Sweep
from marqueue.simulation.sweep_table import figure_title
from marqueue.statistics.estimates import Estimate

#: With more curves there is no plot, only the table.
MOST_CURVES = 12


def write_sweep_report(
    swept: Sweep, directory: Path, figures: Sequence[str] = DEFAULT_FIGURES
) -> Path:
    """Writes the report of a sweep into the directory of its result; returns its path."""
    return sweep_report(swept, figures).write(directory / "report.html")


def sweep_report(swept: Sweep, figures: Sequence[str]) -> Report:
    """The report with these figures."""
    chosen = swept.choose(figures)
    partial = " (partial)" if swept.partial_remark else ""
    page = Report(swept.scenario.name + partial, swept.scenario.description, _byline(swept))
    page.notes(filter(None, [swept.partial_remark]), "A limit ended this sweep")
    page.section("Grid")
    page.table(["Path", "Values"], [[axis.path, ", ".join(axis.values)] for axis in swept.axes])
    page.notes(_warnings(swept))
    page.section("Figures")
    for each in chosen:
        drawn = _figure(swept, each)
        if drawn:
            page.figure(drawn, f"{each.figure.label}{_of(each)}, with 95% confidence intervals.")
    page.section("Points")
    for subject in dict.fromkeys(each.subject for each in chosen if each.subject.kind == "link"):
        _table(page, swept, [each for each in chosen if each.subject == subject], f"{subject}")
    _table(page, swept, [each for each in chosen if each.subject.kind != "link"], "flows")
    page.text(
        "All figures are in figures.csv and figures.parquet. Each point is a result in its own "
        f"directory: {swept.points[0].directory} and so on."
    )
    page.section("How to reproduce this")
    page.text("Save the scenario below as scenario.toml and run it with the same version:")
    page.code(reproduction_command.sweep_command(swept, figures))
    page.code(swept.scenario.to_toml(), "scenario.toml", folded=True)
    return page


def _byline(swept: Sweep) -> str:
    counts = sorted({each.summary["replications"] for each in swept.points})
    replications = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return (
        f"{len(swept.points)} points of {replications} replications with common random numbers: "
        f"seed {swept.scenario.seed} at every point. ± is the half width of the 95% confidence "
        f"interval of each point. marqueue {swept.points[0].summary['version']}."
    )


def _warnings(swept: Sweep) -> list[str]:
    """The warnings of all points, or of some with their numbers."""
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


def _of(chosen: ChosenFigure) -> str:
    subject = chosen.subject
    return f" at {subject.name}" if subject.kind == "link" else f": {subject}"


def _table(page: Report, swept: Sweep, chosen: Sequence[ChosenFigure], of: str) -> None:
    """Adds a table of all points with these figures; nothing without figures."""
    if not chosen:
        return
    links = chosen[0].subject.kind == "link"
    titles = [each.figure.title if links else figure_title(each) for each in chosen]
    page.table(
        ["Point", *swept.labels, *titles],
        [_row(each, chosen) for each in swept.points],
        f"{of[0].upper()}{of[1:]}, over the measured time.",
    )


def _row(measured: MeasuredPoint, chosen: Iterable[ChosenFigure]) -> list[Cell]:
    shown = [measured.estimate(each) for each in chosen]
    return [str(measured.point.number), *measured.point.values, *shown]


def _figure(swept: Sweep, chosen: ChosenFigure) -> matplotlib.figure.Figure | None:
    """A figure over the first axis, with a curve for each combination of the others."""
    first = swept.axes[0]
    variable, *others = swept.labels
    figure = chosen.figure
    nothing = Estimate(float("nan"), None, 0)
    lines: dict[str, dict[str, Estimate]] = {}
    for each in swept.points:
        place, *rest = each.point.values
        label = ", ".join(f"{name} = {value}" for name, value in zip(others, rest, strict=True))
        lines.setdefault(label, {})[place] = each.estimate(chosen)
    if len(lines) > MOST_CURVES or not any(e.n for line in lines.values() for e in line.values()):
        return None
    series = {
        label: [line.get(value, nothing) for value in first.values] for label, line in lines.items()
    }
    if first.places is None:
        drawn = bars(first.values, series, figure.label, figure.unit)
        drawn.axes[0].set_xlabel(variable)
        return drawn
    x, unit = first.places
    head = f"{variable} [{unit}]" if unit else variable
    return curves(x, series, head, figure.label, figure.unit)
