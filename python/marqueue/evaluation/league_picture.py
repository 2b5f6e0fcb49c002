"""The league table as a picture: a row for each AQM, a column for each scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from marqueue.evaluation.case import Suite
from marqueue.evaluation.criterion import Verdict
from marqueue.evaluation.league import ordered
from marqueue.plots.style import svg, themed

SIGNS: Mapping[Verdict, tuple[str, str, str]] = {
    "pass": ("s", "#009E73", "passes"),
    "fail": ("X", "#D55E00", "fails"),
    "not decided": ("o", "#E69F00", "is not decided"),
}
"""Marker, colour (Okabe and Ito) and word of each verdict; others are left empty."""
ROW, COLUMN, MARGINS = 0.22, 0.26, (2.6, 2.3)
"""Inches."""


def league_picture(data: Mapping[str, Any], suite: Suite[Any]) -> str:
    """The picture as SVG, rows in the order of the page."""
    contenders: Mapping[str, Mapping[str, Any]] = data["contenders"]
    names = ordered(contenders)
    cases = [each.name for each in suite.cases if each.name in contenders[names[0]]]
    size = MARGINS[0] + COLUMN * len(cases), MARGINS[1] + ROW * len(names)
    with themed():
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        axes = figure.add_subplot()
        for verdict, (marker, color, word) in SIGNS.items():
            at = [
                (x, y)
                for y, name in enumerate(names)
                for x, case in enumerate(cases)
                if contenders[name][case]["verdict"] == verdict
            ]
            axes.scatter(
                [x for x, _ in at], [y for _, y in at], marker=marker, color=color, s=42, label=word
            )
        axes.set_xticks(range(len(cases)), cases, rotation=90)
        axes.set_yticks(range(len(names)), names)
        axes.set_xlim(-0.7, len(cases) - 0.3)
        axes.set_ylim(len(names) - 0.3, -0.7)
        axes.tick_params(length=0)
        figure.legend(loc="outside upper center", ncols=len(SIGNS))
        return svg(figure)
