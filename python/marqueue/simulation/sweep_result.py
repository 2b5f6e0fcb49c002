"""The result of a sweep: its points, and their figures as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from marqueue.results import CONFIDENCE, ChosenFigure, Result, Subject, choose, subjects
from marqueue.results.columns import numbers, texts
from marqueue.results.congested_links import CONGESTION
from marqueue.results.frames import pandas_frame, polars_frame
from marqueue.results.integrity import CIRCUMSTANCES, read_sealed, write_json
from marqueue.results.provenance import commit
from marqueue.results.subject import LINK_FIGURES_BY_NAME, NAMED
from marqueue.results.summary import FEW_LINK_COLUMNS, MOST_LINK_COLUMNS, measured
from marqueue.results.tables import write_parquet
from marqueue.scenario import Scenario
from marqueue.simulation.parameter_grid import Axis, Point, labels
from marqueue.statistics.estimates import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SUMMARY = "summary.json"

OF_ESTIMATES = {"mean": pa.float64(), "half_width": pa.float64(), "n": pa.uint32()}
"""The columns of an estimate in the table of figures, with their types."""

TEXTS = (*NAMED, "figure", "unit")
"""The columns of the table of figures that say what a row is of."""

Indices = np.ndarray[tuple[int], np.dtype[np.intp]]

DEFAULT_FIGURES = ("utilization", "loss_ratio", "queue_mean", "delay_p99")
"""The figures that are drawn and printed unless others are chosen."""


@dataclass(frozen=True)
class MeasuredPoint:
    """A point with the summary of its result."""

    point: Point
    directory: str
    """The directory of its result, relative to that of the sweep."""
    summary: Mapping[str, Any]
    """The content of its summary.json."""
    cpu_seconds: float
    """What its simulations took."""

    @classmethod
    def read(
        cls, point: Point, directory: str, stored: Path, named: Iterable[Subject] = ()
    ) -> MeasuredPoint:
        """The point whose result is stored in the directory ``stored``; with the figures of
        subjects that are ``named``, also where there are so many links, groups or classes that the
        summary of the result does not list them."""
        summary = json.loads((stored / SUMMARY).read_text(encoding="utf-8"))
        part = summary["measured"]
        unlisted = [each for each in named if not each.measured(part)]
        result = Result.load(stored) if unlisted else None
        for each in unlisted:
            if result and (figures := measured(result, each)):
                part["classes" if each.kind == "class" else f"{each.kind}s"][each.name] = figures
        made = read_sealed(stored / CIRCUMSTANCES)
        return cls(point, directory, summary, made["cpu_seconds"])

    def estimate(self, chosen: ChosenFigure) -> Estimate:
        """A figure in the unit of reports; without a value if the point lacks the link, group or
        class."""
        found = chosen.subject.measured(self.summary["measured"]).get(chosen.figure.name)
        estimate = Estimate.from_dict(found) if found else Estimate(float("nan"), None, 0)
        return estimate.scaled(chosen.figure.scale)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects that have figures."""
        measured = self.summary["measured"]
        return subjects(*(measured[of] for of in ("links", "groups", "classes")))


def _array(values: list[int] | list[float] | list[str], index: Indices) -> pa.Array:
    """The value of an axis in each row, by its index among all values."""
    of_values = np.array(values)
    match of_values.dtype.kind:
        case "i":
            return numbers(of_values[index], pa.int64())
        case "f":
            return numbers(of_values[index], pa.float64())
        case _:
            return texts([str(value) for value in values], index.tolist())


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep: its points, and their figures as tables (:meth:`figures`,
    :meth:`to_pandas`)."""

    scenario: Scenario
    """The scenario, with the values before the replacement."""
    axes: Sequence[Axis]
    points: Sequence[MeasuredPoint]
    asked: int
    """The number of points in the grid."""
    stopped: str | None
    """The limit of time or memory that ended the sweep, in words."""

    @property
    def partial_remark(self) -> str | None:
        """A remark on a sweep that a limit ended; None for a complete one."""
        cut = [each.point.number for each in self.points if each.summary["partial"]]
        if self.stopped:
            return (
                f"Partial result: {self.stopped} was reached. {len(self.points)} of "
                f"{self.asked} points are complete; the others are missing."
            )
        if cut:
            return (
                f"Partial result: {len(cut)} of {self.asked} points were ended by a limit and are "
                f"partial: {', '.join(map(str, cut))}."
            )
        return None

    @property
    def labels(self) -> list[str]:
        """The labels of the axes in tables, reports and figures."""
        return labels(self.axes)

    def choose(self, figures: Sequence[str] = DEFAULT_FIGURES) -> list[ChosenFigure]:
        """The figures that these names stand for; of links without a name, those of
        :attr:`shown_links`. Raises RunError for an unknown name."""
        every = self.points[0].subjects
        shown = [each for each in every if each.kind != "link" or each.name in self.shown_links]
        chosen = (choose(name, every if "." in name else shown) for name in figures)
        return list(dict.fromkeys(each for of_name in chosen for each in of_name))

    @cached_property
    def shown_links(self) -> frozenset[str]:
        """The links that a table has room for: all, or those of every point with the most drops and
        marks over all points, of equal ones the most utilized."""
        of_points = [each.summary["measured"]["links"] for each in self.points]
        common = [name for name in of_points[0] if all(name in links for links in of_points)]
        if len(of_points[0]) <= MOST_LINK_COLUMNS:
            return frozenset(of_points[0])

        def congestion(name: str) -> tuple[float, float]:
            def total(*figures: str) -> float:
                means = (of[name][each]["mean"] for of in of_points for each in figures)
                return sum(mean or 0.0 for mean in means)

            return total("drops", "marks"), total("utilization")

        return frozenset(sorted(common, key=congestion, reverse=True)[:FEW_LINK_COLUMNS])

    def shown_remark(self, figures: Sequence[str]) -> str | None:
        """A remark on links that are left out where these figures are shown; None if there are
        none."""
        more = len(self.points[0].summary["measured"]["links"]) - len(self.shown_links)
        if not more or all("." in name or name not in LINK_FIGURES_BY_NAME for name in figures):
            return None
        return (
            f"Shown are the {len(self.shown_links)} links with the {CONGESTION}; {more:,} more are "
            "in figures.csv. A figure of one of them is named LINK.FIGURE."
        )

    def summary(self) -> dict[str, Any]:
        """All figures in base units, ready for JSON."""
        return {
            "name": self.scenario.name,
            "version": self.points[0].summary["version"],
            "seed": self.scenario.seed,
            "confidence": CONFIDENCE,
            "over": [{"path": axis.path, "values": list(axis.values)} for axis in self.axes],
            "partial": self.partial_remark,
            "points": [
                {
                    "point": each.point.number,
                    "directory": each.directory,
                    "at": self.at(each.point),
                    **{
                        key: each.summary[key]
                        for key in ("scenario_hash", "replications", "partial", "stopping")
                    },
                    "warmup": each.summary["warmup"],
                    "links": each.summary["measured"]["links"],
                    "flows": each.summary["measured"]["flows"],
                    "groups": each.summary["measured"]["groups"],
                    "classes": each.summary["measured"]["classes"],
                }
                for each in self.points
            ],
        }

    def at(self, point: Point) -> dict[str, str]:
        """The values of a point by the path of their axis."""
        return {axis.path: v for axis, v in zip(self.axes, point.values, strict=True)}

    def provenance(self) -> dict[str, Any]:
        """The provenance of the sweep, ready for JSON."""
        first = self.points[0].summary
        return {
            "kind": "sweep",
            "version": first["version"],
            "commit": commit(),
            "scenario": self.scenario.to_dict(),
            "over": {axis.path: list(axis.values) for axis in self.axes},
            "seed": self.scenario.seed,
            "partial": self.partial_remark,
        }

    def figures(self) -> pa.Table:
        """One row per point, figure, and link, group or class (all null: all flows), in base units.

        Columns: point; the path of each axis with its values, as numbers in SI units (the unit is
        in the name, as in ``topology.bottleneck.delay [s]``) or as text; link, group, class,
        figure, unit, mean, half_width (of the 95% interval; null without one), n (replications
        that have a value), partial.
        """
        heads: dict[Subject, range] = {}
        of_heads: list[tuple[str | None, ...]] = []
        """The columns of texts, a row for each figure of each subject."""
        head_of_row: list[int] = []
        estimates: list[Mapping[str, Any]] = []
        counts = []
        for each in self.points:
            before = len(estimates)
            for subject in each.subjects:
                if subject not in heads:
                    first, of = len(of_heads), subject.columns.values()
                    of_heads += [(*of, f.name, f.base_unit) for f in subject.figures.values()]
                    heads[subject] = range(first, len(of_heads))
                head_of_row += heads[subject]
                measured = subject.measured(each.summary["measured"])
                estimates += [measured[name] for name in subject.figures]
            counts.append(len(estimates) - before)
        point_numbers = np.array([each.point.number for each in self.points])
        columns = [("point", numbers(np.repeat(point_numbers, counts), pa.uint32()))]
        for place, axis in enumerate(self.axes):
            head, of_values = axis.column
            index_of = {value: n for n, value in enumerate(axis.values)}
            index = np.array([index_of[each.point.values[place]] for each in self.points])
            columns.append((head, _array(of_values, np.repeat(index, counts))))
        for name, of_head in zip(TEXTS, zip(*of_heads, strict=True), strict=True):
            columns.append((name, texts(of_head, head_of_row)))
        for name, type_ in OF_ESTIMATES.items():
            of_rows = np.array([each[name] for each in estimates], dtype=float)
            columns.append((name, numbers(of_rows, type_, np.isnan(of_rows))))
        partial = np.array([bool(each.summary["partial"]) for each in self.points])
        columns.append(("partial", numbers(np.repeat(partial, counts), pa.bool_())))
        return pa.Table.from_arrays(
            [array for _, array in columns], names=[name for name, _ in columns]
        )

    def to_pandas(self) -> pd.DataFrame:
        """:meth:`figures` as a pandas data frame; raises MissingExtra without pandas."""
        return pandas_frame(self.figures())

    def to_polars(self) -> pl.DataFrame:
        """:meth:`figures` as a Polars data frame; raises MissingExtra without Polars."""
        return polars_frame(self.figures())

    def write(self, directory: Path) -> None:
        """Writes the summary and the tables into a directory that contains the points."""
        table = self.figures()
        write_parquet(table, directory / "figures.parquet")
        pyarrow.csv.write_csv(table, directory / "figures.csv")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        write_json(directory / SUMMARY, self.summary())
