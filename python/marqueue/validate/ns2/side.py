"""What one simulator measured in a window, and when two agree."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

import marqueue
from marqueue.validate import ns2
from marqueue.validate.ns2.case import Case

SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Side:
    """Means over seeds in one window of the bottleneck."""

    begin: float
    end: float
    utilization: float
    queue: float
    """Packets waiting, without the one in transmission."""
    loss: float
    marks: float

    @property
    def span(self) -> str:
        """When the window begins and ends."""
        return f"{self.begin:g}-{self.end:g} s"

    def disagreements(self, other: "Side") -> list[str]:
        """The figures that are further from the other's than they may be."""
        allowed = {
            "utilization": 0.01,
            "queue": max(0.15 * other.queue, 2.0),
            "loss": max(0.25 * other.loss, 0.002),
        }
        mine, theirs = asdict(self), asdict(other)
        return [
            f"{figure}: {mine[figure]:.5g} here, {theirs[figure]:.5g} in ns-2"
            for figure, most in allowed.items()
            if abs(mine[figure] - theirs[figure]) > most
        ]


def _means(begin: float, end: float, rows: Sequence[dict[str, Any]]) -> Side:
    return Side(begin, end, **{name: fmean(row[name] for row in rows) for name in rows[0]})


def theirs(case: Case) -> list[Side]:
    """ns-2's figures by window."""
    runs = [ns2.run(case.ns2_arguments(seed)).windows for seed in SEEDS]
    return [
        _means(
            windows[0].begin,
            windows[0].end,
            [
                {"utilization": w.utilization, "queue": w.queue, "loss": w.loss, "marks": w.marks}
                for w in windows
            ],
        )
        for windows in zip(*runs, strict=True)
    ]


def ours(case: Case) -> list[Side]:
    """The figures here by window."""
    result = marqueue.run(case.scenario(len(SEEDS)))
    link = result.link()
    edges = [0.0, *case.edges, case.duration]
    names = {
        "utilization": "utilization",
        "queue": "queue_mean",
        "loss": "loss_ratio",
        "marks": "marks",
    }
    return [
        _means(
            begin,
            end,
            [
                {name: float(link.values(figure, w)[r]) for name, figure in names.items()}
                for r in range(len(SEEDS))
            ],
        )
        for w, (begin, end) in enumerate(pairwise(edges))
    ]
