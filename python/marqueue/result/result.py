"""The result of a scenario: its data as named arrays, its figures as estimates."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import tomli_w

from marqueue.manifest import Circumstances, Manifest
from marqueue.place import write_json
from marqueue.result import names, pcapng, tables
from marqueue.result.cwnd import Cwnds, cwnd_tables, cwnds
from marqueue.result.link import Link, with_figures
from marqueue.result.pipe import Pipe
from marqueue.result.traffic import FLOW_FIGURES, RUN_FIGURES, FlowColumns, Flows
from marqueue.result.window import Figure
from marqueue.scenario import from_dict
from marqueue.stats import Estimate, Floats

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.table import Table

    from marqueue.plot import Plots
    from marqueue.result.optimum import Aim
    from marqueue.theory.fluid_model.overlay import Overlay

#: The confidence of every interval that is reported.
CONFIDENCE = 0.95

#: What tells where and when, and how long it took.
CIRCUMSTANCES = "circumstances.json"

Span = int | None


class PartialResult(UserWarning):
    """A result that a limit ended before its time."""


class Result:
    """What came out of a scenario: all replications, with what was asked and how it was run.

    ``scenario`` is the scenario as run, ``plan`` what the engine was given, ``manifest`` how, and
    ``tables`` the data (see :meth:`to_arrow`). Two results are equal if all of these are.

    A ``window`` argument is the index of a measuring window; None stands for the measured time,
    that is all windows after the warm-up, merged.
    """

    def __init__(
        self,
        scenario: Mapping[str, Any],
        plan: Mapping[str, Any],
        manifest: Manifest,
        tables: Mapping[str, pa.Table],
    ) -> None:
        self.scenario = dict(scenario)
        self.plan = dict(plan)
        self.manifest = manifest
        self.tables = dict(tables)
        self.theory: Overlay | None = None
        """The fluid model beside the simulation, if :meth:`add_theory` was asked for it."""

    @classmethod
    def from_raw(
        cls,
        scenario: Mapping[str, Any],
        plan: Mapping[str, Any],
        manifest: Manifest,
        raws: Sequence[tables.Raw],
    ) -> Result:
        """Makes a result of what the engine returned, one entry a replication."""
        groups = names.group_names(scenario, plan)
        classes = names.route_classes(scenario)
        made = {
            "series": tables.series_table(plan, raws),
            "windows": tables.windows_table(plan, raws),
            "pipes": tables.pipes_table(plan, raws),
            "shares": tables.shares_table(plan, raws, groups),
            "queue_histogram": tables.queue_histogram_table(plan, raws),
            "delay_histogram": tables.delay_histogram_table(plan, raws),
            "flows": tables.flows_table(
                plan, raws, groups, classes, names.warmup_windows(scenario)
            ),
            "trace": tables.trace_table(plan, raws),
            "tcp": tables.tcp_table(raws),
            "paced": tables.paced_table(raws),
            **cwnd_tables(plan, raws, groups),
        }
        kept = {name: table for name, table in made.items() if table is not None}
        result = cls(scenario, plan, manifest, kept)
        result.tables["windows"] = with_figures(result.tables["windows"], result._links)
        return result

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Result)
            and self.scenario == other.scenario
            and self.plan == other.plan
            and self.manifest == other.manifest
            and self.tables.keys() == other.tables.keys()
            and all(table.equals(other.tables[name]) for name, table in self.tables.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kind = "Partial result" if self.partial else "Result"
        return (
            f"<{kind} {self.name!r}: {self.replications} replications, links "
            f"{', '.join(self.links)}, {self.flows.num_rows} flows>"
        )

    def add_theory(self) -> Overlay:
        """Puts the fluid model of the scenario beside the simulation, in summary and report too.

        Raises :class:`ScenarioError` with every assumption of the model that the scenario breaks,
        :class:`ModelError` if there is no time series to compare with.
        """
        from marqueue.theory.fluid_model.overlay import Overlay

        self.theory = Overlay(self)
        return self.theory

    # What was asked

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario["name"])

    @property
    def replications(self) -> int:
        """How many independent replications were run."""
        return self.manifest.replications

    @cached_property
    def edges(self) -> Floats:
        """The edges of the measuring windows, from 0 to the duration, s."""
        return np.array([0, *self.plan["boundaries"], self.plan["duration"]]) / 1e9

    @property
    def partial(self) -> bool:
        """Whether a limit ended the run; :attr:`Manifest.partial` tells which and where."""
        return self.manifest.partial is not None

    @cached_property
    def ends(self) -> Floats:
        """Where each replication ended, s: at the duration, but in a partial result."""
        if self.manifest.partial is None:
            return np.full(self.replications, self.edges[-1])
        return np.array(self.manifest.partial["ended"])

    @cached_property
    def begun(self) -> range:
        """The windows that some replication began: all of them, but in a partial result."""
        return range(int(np.searchsorted(self.edges[:-1], self.ends.max())))

    @cached_property
    def measured(self) -> range:
        """The windows after the warm-up."""
        return self.begun[names.warmup_windows(self.scenario) :]

    @property
    def warmup(self) -> float:
        """What is cut off the front before anything is measured, s."""
        return float(self.edges[names.warmup_windows(self.scenario)])

    def span(self, window: Span = None) -> tuple[float, float]:
        """When a window begins and ends, s; where a limit cut it, in the longest replication."""
        begin, end = (
            (self.warmup, self.edges[-1])
            if window is None
            else (float(self.edges[window]), self.edges[window + 1])
        )
        return begin, max(begin, float(min(end, self.ends.max())))

    @property
    def links(self) -> list[str]:
        """The names of the metered links."""
        return tables.link_names(self.plan)

    @cached_property
    def plan_groups(self) -> list[str]:
        """The group of the scenario that each entry of the plan's traffic is part of."""
        return names.group_names(self.scenario, self.plan)

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups of traffic."""
        return list(dict.fromkeys(self.plan_groups))

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes of routes, in the order of the scenario."""
        return names.class_names(self.scenario)

    # What came out

    @cached_property
    def _links(self) -> dict[str, Link]:
        return {name: Link(self.plan, self.tables, name, self.measured) for name in self.links}

    def link(self, name: str | None = None) -> Link:
        """One metered link; without a name, the only one there is."""
        if name is None and len(self.links) == 1:
            name = self.links[0]
        if name not in self._links:
            raise KeyError(f"link {name!r}, expected one of: {', '.join(self.links)}")
        return self._links[name]

    @property
    def pipes(self) -> list[str]:
        """The names of the links whose pipe is impaired."""
        return tables.pipe_names(self.plan)

    @cached_property
    def _pipes(self) -> dict[str, Pipe]:
        table = self.tables.get("pipes")
        return {name: Pipe(self.plan, table, name, self.measured) for name in self.pipes}

    def pipe(self, name: str | None = None) -> Pipe:
        """The pipe of one impaired link; without a name, the only one there is."""
        if name is None and len(self.pipes) == 1:
            name = self.pipes[0]
        if name not in self._pipes:
            raise KeyError(f"pipe {name!r}, expected one of: {', '.join(self.pipes) or 'none'}")
        return self._pipes[name]

    @property
    def flows(self) -> pa.Table:
        """One row a flow, with its unit in each field's metadata.

        Columns: replication, flow, group, kind, class, start, stop, end, fct (s, null if there is
        none), size (packets, 0 if endless), delivered_W (bytes of payload delivered in order in
        window W), sent, retransmits (packets), timeouts, ecn_cuts, goodput (bit/s, over the part
        of the measured time that the flow was there). The counts from sent to ecn_cuts are of the
        whole run.
        """
        return self.tables["flows"]

    @cached_property
    def _flow_columns(self) -> FlowColumns:
        return FlowColumns(self.flows)

    def flow_sets(
        self, window: Span = None, *, group: str | None = None, class_: str | None = None
    ) -> list[Flows]:
        """What the flows (of one group, of one class) got in a window: one entry a replication
        that got there.
        """
        columns = self._flow_columns
        rows = columns.rows(group, class_)
        windows = self.measured if window is None else (window,)
        begin, end = self.span(window)
        replication = columns["replication"][rows]
        out = []
        for r in np.flatnonzero(self.ends > begin):
            here = rows[replication == r]
            left = np.fmin(columns["end"][here], columns["stop"][here])
            delivered = [columns[f"delivered_{w}"][here] for w in windows]
            out.append(
                Flows(
                    begin=begin,
                    end=min(end, self.ends[r]),
                    kind=columns.kinds(here),
                    start=columns["start"][here],
                    left=np.fmin(left, self.ends[r]),
                    fct=columns["fct"][here],
                    size=columns["size"][here],
                    delivered=np.sum(delivered, axis=0, dtype=float),
                    totals={
                        name: columns[name][here].sum()
                        for name in ("sent", "retransmits", "timeouts", "ecn_cuts")
                    },
                )
            )
        return out

    def traffic(
        self, window: Span = None, *, group: str | None = None, class_: str | None = None
    ) -> dict[str, Estimate]:
        """The figures of all flows, of one group or of one class, by name (base units)."""
        return _estimates(FLOW_FIGURES, self.flow_sets(window, group=group, class_=class_))

    def cwnds(self, window: Span = None, *, group: str) -> list[Cwnds]:
        """The congestion windows of a group in a measuring window, one entry a replication; without
        one the measured time must be a single one. Raises KeyError if they were not sampled.
        """
        if window is None:
            [window] = self.measured
        return cwnds(self.tables, group, window, *self.span(window))

    def run_totals(
        self, *, group: str | None = None, class_: str | None = None
    ) -> dict[str, Estimate]:
        """The counts that flows keep over the whole run, its warm-up included."""
        return _estimates(RUN_FIGURES, self.flow_sets(group=group, class_=class_))

    @cached_property
    def optimum(self) -> Aim | str | None:
        """What groups of traffic should have of CPUs and links, and the region that the scenario is
        in; why that cannot be said, if it cannot; None without a CPU."""
        # It brings solvers, which few results need.
        from marqueue.result.optimum import aim

        return aim(self)

    def summary(self) -> dict[str, Any]:
        """All figures, ready for JSON: a function of scenario, seed and version alone."""
        from marqueue.result.summary import summary

        return summary(self)

    def table(self) -> Table:
        """The main figures, for the terminal."""
        from marqueue.result.summary import table

        return table(self)

    @property
    def plot(self) -> Plots:
        """Figures of this result: ``result.plot.queue()`` and so on."""
        from marqueue.plot import Plots

        return Plots(self)

    # Conversion

    def to_arrow(self, name: str = "series") -> pa.Table:
        """A table by name: series, windows, flows, queue_histogram, delay_histogram; pipes where
        links are impaired; shares (of groups of traffic in servers) where there is a CPU; trace,
        tcp, paced, cwnd and cwnd_variance where they were asked for.
        """
        if name not in self.tables:
            raise KeyError(f"table {name!r}, expected one of: {', '.join(self.tables)}")
        return self.tables[name]

    def to_polars(self, name: str = "series") -> pl.DataFrame:
        """The same as a Polars data frame."""
        try:
            import polars as pl
        except ImportError as e:
            raise ImportError("to_polars needs polars: pip install polars") from e
        frame = pl.from_arrow(self.to_arrow(name))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self, name: str = "series") -> pd.DataFrame:
        """The same as a pandas data frame."""
        try:
            frame: pd.DataFrame = self.to_arrow(name).to_pandas()
        except ImportError as e:
            raise ImportError("to_pandas needs pandas: pip install pandas") from e
        return frame

    # Keeping

    def save(self, directory: str | os.PathLike[str], *, page: bool = True) -> Path:
        """Writes the result and its report into a new directory and returns its path.

        The manifest comes last: a directory without it is not a result. Every file but that of the
        circumstances is a function of scenario, seed, version, and what was asked of the run.
        """
        path = Path(directory)
        path.mkdir(parents=True)
        tables.write(self.tables, path)
        for link, file in pcapng.files(self).items():
            self.write_pcapng(path / file, link)
        (path / "scenario.toml").write_text(tomli_w.dumps(self.scenario), encoding="utf-8")
        write_json(path / "plan.json", self.plan, sort_keys=False)
        write_json(path / "summary.json", self.summary())
        if page:
            # It brings fonts and drawing, which take longer than many a run.
            from marqueue.report import write_report

            write_report(self, path / "report.html")
        manifest = dataclasses.asdict(self.manifest)
        write_json(path / CIRCUMSTANCES, manifest.pop("circumstances"), sort_keys=False)
        write_json(path / "manifest.json", manifest, sort_keys=False)
        return path

    def write_pcapng(
        self, path: str | os.PathLike[str], link: str, *, replication: int = 0
    ) -> Path:
        """Writes what a traced link carried, there and back, as a pcapng file for Wireshark.

        It is what ``tcpdump`` sees at the near end of the link: packets as their transmission
        begins, and those of the way back, if that is traced too, as they arrive. Raises KeyError if
        the link was not traced.
        """
        return pcapng.write(self, Path(path), link, replication)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Result:
        """Reads what :meth:`save` has written; warns of a result that is partial.

        Raises OSError where a file cannot be read, ScenarioError, ValueError or TypeError where it
        holds something else than was written.
        """
        path = Path(directory)
        scenario = tomllib.loads((path / "scenario.toml").read_text(encoding="utf-8"))
        from_dict(scenario, origin=str(path / "scenario.toml"))
        plan = _json(path / "plan.json")
        if not isinstance(plan, dict) or "links" not in plan:
            raise ValueError("plan.json: no links, expected the plan of a run")
        manifest = _json(path / "manifest.json")
        circumstances = _json(path / CIRCUMSTANCES)
        made = Manifest(**manifest, circumstances=Circumstances(**circumstances))
        if made.partial_remark:
            warnings.warn(f"{path}: {made.partial_remark}", PartialResult, stacklevel=2)
        result = cls(scenario, plan, made, tables.read(path))
        if "theory" in _json(path / "summary.json"):
            result.add_theory()
        return result


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: not JSON: {error}") from None


def _estimates(figures: Sequence[Figure[Flows]], sets: Sequence[Flows]) -> dict[str, Estimate]:
    return {f.name: f.estimate(sets, CONFIDENCE) for f in figures}
