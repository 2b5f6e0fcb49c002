"""The figures of a sweep as data: the page's script draws any of them over any setting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from marqueue.reports.chart import Chart, ChartCurve
from marqueue.results import ChosenFigure
from marqueue.simulation.sweep_result import MeasuredPoint, Sweep
from marqueue.simulation.sweep_table import figure_title

#: Estimates in the data of a page: about 1 MB.
MOST_ESTIMATES = 40_000
#: Significant digits of an estimate.
DIGITS = 6
#: Curves of the static picture.
MOST_CURVES = 12

#: Which direction of a figure is better, by the beginning of its name; of others neither is.
BETTER = {
    "utilization": "more",
    "goodput": "more",
    "jain": "more",
    "loss_ratio": "less",
    "drops": "less",
    "queue_": "less",
    "delay_": "less",
    "jitter": "less",
    "fct_": "less",
    "retransmit": "less",
}
#: The figures of the Pareto front: the first horizontal, and the first of the others there is.
ACROSS, UP = "utilization", ("delay_p99", "delay_mean", "delay_p95", "queue_mean")


def grid_data(swept: Sweep, chosen: Sequence[ChosenFigure]) -> dict[str, Any]:
    """Axes, figures and estimates of all points: first the chosen figures, then as many others of
    their links, and of all flows, as a page can hold."""
    figures = list(dict.fromkeys([*chosen, *_others(swept, chosen)]))
    figures = figures[: max(len(chosen), MOST_ESTIMATES // len(swept.points))]
    several = len({each.subject for each in figures if each.subject.kind == "link"}) > 1
    titles = [
        each.figure.title if each.subject.kind == "link" and not several else figure_title(each)
        for each in figures
    ]
    return {
        "axes": [
            {
                "label": label,
                "names": list(axis.values),
                "numbers": axis.places[0] if axis.places else None,
                "unit": axis.places[1] if axis.places else "",
            }
            for label, axis in zip(swept.labels, swept.axes, strict=True)
        ],
        "figures": [
            {"title": title, "better": _better(each.figure.name)}
            for title, each in zip(titles, figures, strict=True)
        ],
        "points": [
            {
                "number": each.point.number,
                "at": [
                    axis.values.index(value)
                    for axis, value in zip(swept.axes, each.point.values, strict=True)
                ],
                "values": [_pair(each, figure) for figure in figures],
            }
            for each in swept.points
        ],
        "pareto": _pareto(figures),
    }


def first_chart(swept: Sweep, chosen: ChosenFigure) -> Chart:
    """A figure over the first axis, with a curve for each combination of the others; with too many
    curves the first of them."""
    first, places = swept.axes[0], swept.axes[0].places
    variable, *others = swept.labels
    lines: dict[str, dict[int, MeasuredPoint]] = {}
    for each in swept.points:
        value, *rest = each.point.values
        label = ", ".join(f"{name} = {at}" for name, at in zip(others, rest, strict=True))
        lines.setdefault(label, {})[first.values.index(value)] = each
    shown = dict(list(lines.items())[:MOST_CURVES])
    curves = []
    for i, (label, line) in enumerate(shown.items()):
        estimates = [each.estimate(chosen) for each in line.values()]
        mean = np.array([each.mean for each in estimates])
        half_width = np.array([each.half_width or 0.0 for each in estimates])
        beside = 0.0 if places else 0.4 * ((i + 0.5) / len(shown) - 0.5)
        x = np.array([places[0][at] if places else at + beside for at in line])
        curves.append(ChartCurve(x, mean, label, band=(mean - half_width, mean + half_width)))
    unit = f" [{places[1]}]" if places and places[1] else ""
    return Chart(
        f"{chosen.figure.label} over {variable}, with 95% confidence intervals",
        f"{variable}{unit}",
        chosen.figure.title,
        curves,
        kind="line" if places else "scatter",
        x_names=() if places else first.values,
    )


def _others(swept: Sweep, chosen: Sequence[ChosenFigure]) -> Iterator[ChosenFigure]:
    """The other figures that all points may have: of links of the chosen figures, of all flows."""
    links = {each.subject.name for each in chosen if each.subject.kind == "link"}
    for subject in swept.points[0].subjects:
        if subject.kind == "flows" or (
            subject.kind == "link" and (not links or subject.name in links)
        ):
            for figure in subject.figures.values():
                wanted = ChosenFigure(subject, figure)
                if any(each.estimate(wanted).n for each in swept.points):
                    yield wanted


def _better(figure: str) -> str | None:
    return next((way for name, way in BETTER.items() if figure.startswith(name)), None)


def _pareto(figures: Sequence[ChosenFigure]) -> list[int] | None:
    """The places of utilization and delay of one link; None without both."""
    for i, across in enumerate(figures):
        if across.figure.name == ACROSS:
            for name in UP:
                for j, up in enumerate(figures):
                    if up.subject == across.subject and up.figure.name == name:
                        return [i, j]
    return None


def _pair(measured: MeasuredPoint, figure: ChosenFigure) -> list[float | None]:
    """Mean and half width; None where there is none."""
    estimate = measured.estimate(figure)
    return [_short(estimate.mean), _short(estimate.half_width)]


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")
