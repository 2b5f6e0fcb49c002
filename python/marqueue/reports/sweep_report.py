"""The report of a sweep: charts of any figure over any setting, and a table of all points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from marqueue.reports.builder import Cell, Report
from marqueue.reports.reproduction_command import (
    add_reproduction,
    programs_remark,
    sweep_command,
)
from marqueue.reports.sweep_grid import first_chart, grid_data
from marqueue.results import ChosenFigure
from marqueue.simulation.sweep_result import DEFAULT_FIGURES, MeasuredPoint, Sweep
from marqueue.simulation.sweep_table import figure_title


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
    page.answer(_answer(swept, chosen))
    page.notes(_warnings(swept))
    page.section("Pictures").grid(grid_data(swept, chosen), first_chart(swept, chosen[0]))
    page.section("Points", folded=True)
    for subject in dict.fromkeys(each.subject for each in chosen if each.subject.kind == "link"):
        _table(page, swept, [each for each in chosen if each.subject == subject], f"{subject}")
    _table(page, swept, [each for each in chosen if each.subject.kind != "link"], "flows")
    page.text(*filter(None, [swept.shown_remark(figures)]))
    page.text(
        "All figures are in figures.csv and figures.parquet. Each point is a result in its own "
        f"directory: {swept.points[0].directory} and so on."
    )
    page.section("Grid", folded=True)
    page.table(["Path", "Values"], [[axis.path, ", ".join(axis.values)] for axis in swept.axes])
    page.section("How to reproduce this")
    scenario = swept.scenario
    remarks = programs_remark(scenario.to_dict(), "the directory of any point")
    add_reproduction(page, scenario.to_toml(), sweep_command(swept, figures), remarks)
    return page


def _answer(swept: Sweep, chosen: Sequence[ChosenFigure]) -> str:
    """The ranges of the first and the last figure, with the settings at their ends."""
    parts: list[str] = []
    for each in dict.fromkeys([chosen[0], chosen[-1]]):
        found = [(point.estimate(each), point) for point in swept.points]
        found = [(estimate, point) for estimate, point in found if estimate.n]
        if not found:
            continue
        low, high = (of(found, key=lambda pair: pair[0].mean) for of in (min, max))
        unit = f" {each.figure.unit}" if each.figure.unit else ""
        title = f"{each.figure.phrase}{_of(each)}"
        if low[0].mean == high[0].mean:
            parts.append(f"{title} is {low[0].mean:.3g}{unit} at every point")
        else:
            parts.append(
                f"{title} goes from {low[0].mean:.3g}{unit} ({_place(swept, low[1])}) to "
                f"{high[0].mean:.3g}{unit} ({_place(swept, high[1])})"
            )
    answer = "; ".join(parts) or "nothing was measured"
    return f"{answer[0].upper()}{answer[1:]}."


def _place(swept: Sweep, measured: MeasuredPoint) -> str:
    """The settings of a point."""
    values = zip(swept.labels, measured.point.values, strict=True)
    return ", ".join(f"{label} = {value}" for label, value in values)


def _byline(swept: Sweep) -> str:
    counts = sorted({each.summary["replications"] for each in swept.points})
    replications = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    spread = (
        "± is the half width of the 95% confidence interval of each point."
        if counts[-1] > 1
        else "A single replication has no confidence interval."
    )
    return (
        f"{len(swept.points)} points of {replications} replication{'s' * (counts[-1] > 1)} with "
        f"common random numbers: seed {swept.scenario.seed} at every point. {spread} marqueue "
        f"{swept.points[0].summary['version']}."
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
        else f"Point{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {warning}"
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
