"""A scenario over a grid of values: one result a point, and a table over all of them.

Points have the same seeds, so that what chance does is common to them (Law, *Simulation Modeling
and Analysis*, 5th ed., section 11.2), and share all threads. A point is written as soon as it has
ended, and the table is made of what was written: only a few points are in memory at a time, and a
sweep that was interrupted gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
from rich.table import Table
from rich.text import Text

from marqueue.errors import ResultError, RunError, differing_values
from marqueue.results import (
    CONFIDENCE,
    ChosenFigure,
    Subject,
    choose_all,
    subjects,
    subjects_of,
)
from marqueue.results.frames import pandas_frame, polars_frame
from marqueue.results.integrity import (
    CIRCUMSTANCES,
    Fault,
    check_directory,
    read_provenance,
    read_sealed,
    seal_directory,
    write_json,
)
from marqueue.results.output_directory import OutputDirectory, claim, staging_directory
from marqueue.results.output_file import unwritable
from marqueue.results.provenance import commit, here
from marqueue.results.tables import write_parquet
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.executor import Executor, Progress
from marqueue.simulation.experiment import Experiment, replications_of
from marqueue.simulation.limits import NO_LIMITS, Limits
from marqueue.simulation.parameter_grid import Axis, Point, grid, labels
from marqueue.statistics.estimates import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from marqueue.results import Result

#: What is drawn and tabled where nothing else is said.
SHOWN = ("utilization", "loss_ratio", "queue_mean", "delay_p99")

POINTS = "points"


@dataclass(frozen=True)
class MeasuredPoint:
    """A point with what its result says."""

    point: Point
    directory: str
    """Of its result, in that of the sweep."""
    summary: Mapping[str, Any]
    """What is in its summary.json."""

    def estimate(self, chosen: ChosenFigure) -> Estimate:
        """A figure in its own unit, as reports show it; without value where the point does not
        have what it is taken of."""
        found = chosen.subject.measured(self.summary["measured"]).get(chosen.figure.name)
        estimate = Estimate.from_dict(found) if found else Estimate(float("nan"), None, 0)
        return estimate.scaled(chosen.figure.scale)

    def rows(self) -> list[dict[str, Any]]:
        """Every figure with what it is taken of, in its base unit."""
        measured = self.summary["measured"]
        return [
            {
                **subject.columns,
                "figure": figure.name,
                "unit": figure.base_unit,
                **subject.measured(measured)[figure.name],
            }
            for subject in self.subjects
            for figure in subject.figures.values()
        ]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What figures are taken of."""
        measured = self.summary["measured"]
        return subjects(*(measured[of] for of in ("links", "groups", "classes")))


ReportWriter = Callable[["Sweep", Path], object]
"""Writes the report of a sweep into a directory (:mod:`marqueue.reports.sweep_report`)."""


@dataclass(frozen=True)
class Sweep:
    """What came out of a sweep: its points, and their figures as tables (:meth:`figures`,
    :meth:`to_pandas`)."""

    scenario: Scenario
    """With the values that were replaced."""
    axes: Sequence[Axis]
    points: Sequence[MeasuredPoint]
    asked: int
    """Of how many points."""
    stopped: str | None
    """The limit of time or memory that ended it, in words."""

    @property
    def partial_remark(self) -> str | None:
        """What a reader must know of a sweep that a limit ended."""
        cut = [each.point.number for each in self.points if each.summary["partial"]]
        if self.stopped:
            return (
                f"Partial result: {self.stopped} was reached. Of {self.asked} points "
                f"{len(self.points)} had ended; the others are missing."
            )
        if cut:
            return (
                f"Partial result: {len(cut)} of {self.asked} points were ended by a limit, and say "
                f"so themselves: {', '.join(map(str, cut))}."
            )
        return None

    @property
    def labels(self) -> list[str]:
        """What the axes are called in tables, reports and figures."""
        return labels(self.axes)

    def choose(self, figures: Sequence[str] = SHOWN) -> list[ChosenFigure]:
        """The figures that these names stand for, of what the first point has."""
        return choose_all(figures, self.points[0].subjects)

    def summary(self) -> dict[str, Any]:
        """All figures, ready for JSON; base units throughout."""
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
        """The values of a point by their paths."""
        return {axis.path: v for axis, v in zip(self.axes, point.values, strict=True)}

    def provenance(self) -> dict[str, Any]:
        """How the sweep came about, ready for JSON."""
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
        """One row a point, figure, and link, group or class (all null: all flows), in base units.

        Columns: point; the path of each axis with its values, as numbers in SI units (the unit is
        in the name, as in ``topology.bottleneck.delay [s]``) or as text; link, group, class,
        figure, unit, mean, half_width (of the 95% interval; null without one), n (replications
        that have a value), partial.
        """
        columns = [axis.column for axis in self.axes]
        numbers = [
            dict(zip(axis.values, numbers, strict=True))
            for axis, (_, numbers) in zip(self.axes, columns, strict=True)
        ]
        rows = []
        for each in self.points:
            values = zip(columns, numbers, each.point.values, strict=True)
            place = {head: number[value] for (head, _), number, value in values}
            rows += [
                {
                    "point": each.point.number,
                    **place,
                    **row,
                    "partial": bool(each.summary["partial"]),
                }
                for row in each.rows()
            ]
        schema = [
            ("point", pa.uint32()),
            *((head, pa.array(column).type) for head, column in columns),
            *((name, pa.string()) for name in ("link", "group", "class", "figure", "unit")),
            ("mean", pa.float64()),
            ("half_width", pa.float64()),
            ("n", pa.uint32()),
            ("partial", pa.bool_()),
        ]
        return pa.Table.from_pylist(rows, schema=pa.schema(schema))

    def to_pandas(self) -> pd.DataFrame:
        """:meth:`figures` as a pandas data frame; raises MissingExtra without pandas."""
        return pandas_frame(self.figures())

    def to_polars(self) -> pl.DataFrame:
        """:meth:`figures` as a Polars data frame; raises MissingExtra without Polars."""
        return polars_frame(self.figures())

    def table(self, figures: Sequence[str] = SHOWN) -> Table:
        """Some figures of every point, for the terminal.

        A point has a row for each link that figures are taken of; those of flows stand in the
        first.
        """
        chosen = self.choose(figures)
        of_links = [each for each in chosen if each.subject.kind == "link"]
        of_flows = [each for each in chosen if each.subject.kind != "link"]
        links = list(dict.fromkeys(each.subject for each in of_links))
        metered = [each for each in self.points[0].subjects if each.kind == "link"]
        several = bool(links) and len(metered) > 1
        caption = "mean ± half width of the 95% confidence interval over replications"
        out = Table(
            title=Text(f"{self.scenario.name}: {len(self.points)} points"),
            caption="\n".join(filter(None, [caption, self.partial_remark])),
            title_justify="left",
            caption_justify="left",
            box=None,
            pad_edge=False,
        )
        for name in [*self.labels, *["link"] * several]:
            out.add_column(Text(name), justify="right", no_wrap=True)
        link_figures = list(dict.fromkeys(each.figure for each in of_links))
        heads = [figure.title for figure in link_figures] + [title(each) for each in of_flows]
        for head in heads:
            broken = head.replace(" [", "\n[").replace(", ", ",\n")
            out.add_column(Text(broken), justify="right")
        for each in self.points:
            for row, link in enumerate(links or [None]):
                places = [*each.point.values, *[link.name if link else ""] * several]
                cells = [ChosenFigure(link, figure) for figure in link_figures] if link else []
                shown = [str(each.estimate(c)) if c in of_links else "" for c in cells]
                shown += ["" if row else str(each.estimate(c)) for c in of_flows]
                out.add_row(*map(Text, places), *shown)
        return out

    def write(self, directory: Path) -> None:
        """Writes summary and tables into a directory that has the points."""
        table = self.figures()
        write_parquet(table, directory / "figures.parquet")
        pyarrow.csv.write_csv(table, directory / "figures.csv")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        write_json(directory / "summary.json", self.summary())


def title(chosen: ChosenFigure) -> str:
    """The title of a figure of flows, with whose it is."""
    figure, name = chosen.figure, chosen.subject.name
    return f"{figure.title}, {name}" if name else figure.title


def sweep(
    scenario: Scenario,
    over: Sequence[str],
    out: Path,
    *,
    figures: Sequence[str] = SHOWN,
    replications: int | None = None,
    until: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    limits: Limits = NO_LIMITS,
    resume: bool = False,
    force: bool = False,
    write_report: ReportWriter | None = None,
) -> Sweep:
    """Runs a scenario over a grid and writes all results into the directory ``out``.

    ``over`` are axes such as ``"topology.bottleneck.aqm.gamma=0.9,0.98"``; ``figures`` are those
    that the report draws: ``"delay_p99"`` of every link, ``"jain"`` of all flows, or
    ``"long.goodput"`` of a link, group or class; ``resume`` continues an interrupted sweep,
    ``force`` replaces the result that is there. Everything else is as for :func:`marqueue.run`, for
    each point; limits of time and memory are those of the whole sweep.

    Raises ScenarioError or RunError, before anything runs, with all values that cannot be right.

    >>> from pathlib import Path
    >>> from marqueue import load
    >>> from marqueue.simulation.sweep import sweep
    >>> scenario = load("scenarios/dumbbell.toml", ["replications=2"])
    >>> swept = sweep(scenario, ["topology.bottleneck.aqm=red,pie"], Path("results/aqms"))
    >>> frame = swept.to_pandas()
    >>> delays = frame[(frame.link == "bottleneck") & (frame.figure == "delay_p99")]
    >>> list(delays["topology.bottleneck.aqm"]), set(delays.unit), list(delays.n)
    (['red', 'pie'], {'s'}, [2, 2])
    """
    asked = SweepRequest.of(scenario, over, replications, until, figures)
    with claim(out, replace=force, resume=resume) as output:
        checkpoints = Checkpoints.beside(output.shown, resume, force)
        swept = sweep_into(output, checkpoints, asked, jobs, progress, limits, write_report)
        if not swept.stopped:
            checkpoints.discard()
        return swept


@dataclass(frozen=True)
class SweepRequest:
    """A scenario with the grid that it is to be run over, checked."""

    scenario: Scenario
    axes: Sequence[Axis]
    points: Sequence[Point]
    runs: Sequence[Experiment]
    """What is asked of each point."""
    figures: Sequence[str]
    """What is drawn and tabled."""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        over: Sequence[str],
        replications: int | None,
        until: Sequence[str],
        figures: Sequence[str] = SHOWN,
    ) -> SweepRequest:
        """Raises ScenarioError or RunError with all values that cannot be right."""
        axes = [Axis.parse(text) for text in over]
        points = grid(scenario, axes)
        choose_all(figures, subjects_of(points[0].scenario))
        runs = [Experiment.of(each.scenario, None, replications, until) for each in points]
        return cls(scenario, axes, points, runs, list(dict.fromkeys(figures)))

    @property
    def names(self) -> list[str]:
        """The directory of each point, in that of the sweep."""
        digits = len(str(len(self.points)))
        return [f"{POINTS}/{each.number:0{digits}}" for each in self.points]


def sweep_into(
    output: OutputDirectory,
    checkpoints: Checkpoints,
    asked: SweepRequest,
    jobs: int | None,
    progress: Progress | None,
    limits: Limits,
    write_report: ReportWriter | None = None,
) -> Sweep:
    """Runs what is asked and writes it into a claimed directory. The checkpoints are left there:
    if a limit ended the sweep, it can be continued."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    checkpoints.belong_to(
        {
            "scenario": asked.scenario.to_dict(),
            "over": {axis.path: list(axis.values) for axis in asked.axes},
            **asked.runs[0].rules(limits),
        }
    )
    assert checkpoints.path is not None, "points are stored until the last has ended"
    directories = [checkpoints.path / name for name in asked.names]
    missing = [
        i
        for i, directory in enumerate(directories)
        if not _is_completed(directory, asked.runs[i], checkpoints)
    ]
    pool: Executor[Result | None] = Executor(jobs, checkpoints, limits, progress)
    works = (asked.runs[i].work(pool, limits) for i in missing)
    total = sum(asked.runs[i].seconds for i in missing)
    with closing(pool.complete(works, total)) as results:
        for position, result in results:
            if result is None or (result.partial and pool.stopped):
                continue
            i = missing[position]
            checkpoints.begin()
            _store_point(result, directories[i])
            for run in (asked.runs[i].pilot, Scenario.model_validate(result.scenario)):
                checkpoints.forget(replications_of(run, limits) if run else ())
    measured = [
        MeasuredPoint(point, name, _read_json(directory / "summary.json"))
        for point, name, directory in zip(asked.points, asked.names, directories, strict=True)
        if directory.is_dir()
    ]
    if not measured:
        raise RunError(f"{pool.stopped} was reached before any point had ended")
    swept = Sweep(asked.scenario, asked.axes, measured, len(asked.points), pool.stopped)
    with output.staged() as fresh:
        for each in measured:
            # Links, not copies: the points stay where they are until the whole is in its place.
            source = checkpoints.path / each.directory
            shutil.copytree(source, fresh / each.directory, copy_function=os.link)
        swept.write(fresh)
        if write_report is not None:
            write_report(swept, fresh)
        cpu = (read_sealed(fresh / each.directory / CIRCUMSTANCES) for each in measured)
        made = here(
            started_at,
            time.perf_counter() - started,
            sum(each["cpu_seconds"] for each in cpu),
            len(asked.points) - len(missing),
        )
        seal_directory(fresh, swept.provenance(), dataclasses.asdict(made))
    return swept


def _store_point(result: Result, directory: Path) -> None:
    """Writes the result of a point; its directory appears whole or not at all."""
    try:
        with staging_directory(directory) as fresh:
            # A page would take longer than many a point; the sweep has one.
            result.write_files(fresh)
            fresh.rename(directory)
    except OSError as error:
        raise unwritable(directory, error) from None


def _is_completed(directory: Path, asked: Experiment, checkpoints: Checkpoints) -> bool:
    """Whether the result of a point is there, and whole; one that is damaged is set aside.

    Raises RunError if it holds files that marqueue did not write.
    """
    if not directory.exists():
        return False
    try:
        findings = check_directory(directory)
        if foreign := [str(each) for each in findings if each.fault is Fault.FOREIGN]:
            raise RunError(f"{directory}: {foreign[0]}, expected the result of a point alone")
        if findings:
            raise ResultError(f"{directory}: damaged: {findings[0]}")
        found = read_provenance(directory)["scenario"]
        differ = differing_values(found, json.loads(json.dumps(asked.scenario.to_dict())))
        if {path for path, _, _ in differ} - _FOUND_BY_RUNNING:
            raise ResultError(f"{directory}: the result of another point")
    except ResultError as error:
        checkpoints.set_aside_point(directory, str(error))
        return False
    return True


_FOUND_BY_RUNNING = {"warmup", "replications"}
"""What the scenario of a result may have other than the scenario that was asked for."""


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
