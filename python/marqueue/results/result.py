"""The result of a scenario: its data, its figures as estimates, and its files."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from marqueue.errors import ResultError
from marqueue.extras import require
from marqueue.garbage_collector import paused_collector
from marqueue.programs.registry import sources
from marqueue.results import labels, media, pcapng, tables, trace_tables
from marqueue.results.columns import Raw
from marqueue.results.congestion_windows import cwnd_tables
from marqueue.results.data import ResultData
from marqueue.results.flow_table import FlowRows
from marqueue.results.frames import pandas_frame, polars_frame
from marqueue.results.integrity import (
    read_circumstances,
    read_provenance,
    seal_directory,
    verified,
    write_json,
)
from marqueue.results.labelled import labelled
from marqueue.results.many_flows import MANY, ManyFlows
from marqueue.results.modelled import TABLE, modelled_table
from marqueue.results.output_directory import claim
from marqueue.results.provenance import Circumstances, Provenance
from marqueue.results.subject import values_table
from marqueue.results.timeline import Span
from marqueue.results.window_columns import with_figures
from marqueue.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import xarray as xr

    from marqueue.notebook.widgets import View
    from marqueue.results.fluid_overlay import Overlay
    from marqueue.results.optimum import FairOptimum
    from marqueue.results.summary_table import SummaryTable


FLOWS = "flows.parquet"
SHOWN_BY = "marqueue.notebook"
"""What shows a result in a notebook draws charts, and so stands above this package: it is imported
by name when a notebook asks for it."""


class PartialResult(UserWarning):
    """A loaded result is partial: a limit ended the run."""


class Result(ResultData):
    """The result of a scenario, with all replications.

    ``scenario`` is the scenario as run, ``plan`` the input of the engine, ``provenance`` how the
    result was made, and ``tables`` the data (see :meth:`to_arrow`; without the flows if there are
    very many). Two results are equal if all of these are equal.

    A ``window`` argument is the index of a measuring window; None is the measured time, which is
    all windows after the warm-up, merged. All values are in base units: s, bit/s, bytes, packets,
    shares.

    >>> from marqueue import load, run
    >>> result = run(load("scenarios/dumbbell.toml"), replications=2)
    >>> result.links, result.groups, result.span()
    (['bottleneck'], ['long', 'short'], (20.0, 60.0))
    >>> result.link("bottleneck").figures()["delay_p99"].n  # an estimate over replications
    2
    >>> t, queue = result.link("bottleneck").series("queue")  # s, packets
    >>> queue.shape == (2, len(t))
    True
    >>> frame = result.to_pandas("figures")  # a row per replication, figure and link or group
    >>> shown = frame[frame.figure == "delay_p99"].pivot(
    ...     index="replication", columns="link", values="value"
    ... )
    >>> 0 < result.traffic(group="long")["jain"].mean <= 1
    True
    >>> list(shown.columns), len(shown)
    (['bottleneck'], 2)
    """

    def __init__(
        self,
        scenario: Mapping[str, Any],
        plan: Mapping[str, Any],
        provenance: Provenance,
        tables: Mapping[str, pa.Table],
        many_flows: ManyFlows | None = None,
    ) -> None:
        super().__init__(scenario, plan, provenance, tables, many_flows)
        self.theory: Overlay | None = None
        """The fluid model beside the simulation, after :meth:`add_theory`."""

    @classmethod
    def from_raw(
        cls,
        scenario: Scenario,
        plan: Mapping[str, Any],
        provenance: Provenance,
        raws: Sequence[Raw],
    ) -> Result:
        """Makes a result from the output of the engine, one entry per replication."""
        groups = labels.group_names(scenario, plan)
        classes = labels.result_classes(scenario)
        plain = provenance.scenario
        warmup = labels.warmup_windows(plain)
        flows = FlowRows(plan, raws, groups, classes, warmup)
        many = flows.num_rows > MANY
        made = {
            "series": tables.series_table(plan, raws),
            "windows": tables.windows_table(plan, raws),
            "pipes": tables.pipes_table(plan, raws),
            "qdiscs": tables.qdiscs_table(plan, raws),
            "shares": tables.shares_table(plan, raws, groups),
            "queue_histogram": tables.queue_histogram_table(plan, raws),
            "delay_histogram": tables.delay_histogram_table(plan, raws),
            "flows": None if many else flows.table(),
            "trace": trace_tables.trace_table(plan, raws),
            "tcp": trace_tables.tcp_table(raws),
            "path_model": trace_tables.model_table(raws),
            "paced": trace_tables.paced_table(raws),
            "frames": media.frames_table(raws),
            "media": media.media_table(raws),
            TABLE: modelled_table(plan, raws, warmup),
            **cwnd_tables(plan, raws, groups),
        }
        present = {name: table for name, table in made.items() if table is not None}
        result = cls(plain, plan, provenance, present, ManyFlows(flows) if many else None)
        result.checked_scenario = scenario
        result.tables["windows"] = with_figures(result.tables, raws)
        return result

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Result)
            and self.scenario == other.scenario
            and self.plan == other.plan
            and self.provenance == other.provenance
            and self.tables.keys() == other.tables.keys()
            and all(table.equals(other.tables[name]) for name, table in self.tables.items())
            and self.flow_count == other.flow_count
            and (self.many_flows is None or self.many_flows.equals(other.many_flows))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kind = "Partial result" if self.partial else "Result"
        return (
            f"<{kind} {self.name!r}: {self.replications} replications, links "
            f"{', '.join(self.links)}, {self.flow_count} flows>"
        )

    def add_theory(self) -> Overlay:
        """Adds the fluid model of the scenario to the result, its summary and its report.

        Raises ScenarioError with every assumption of the model that the scenario violates,
        ModelError if there is no time series to compare with, MissingExtra without scipy.
        """
        require("theory", "The fluid model")
        from marqueue.results.fluid_overlay import Overlay

        self.theory = Overlay(self)
        return self.theory

    @cached_property
    def optimum(self) -> FairOptimum | str | None:
        """The proportionally fair shares of CPUs and links, and the region of the scenario; a text
        that explains why there are none; None in a scenario without a CPU."""
        # It imports solvers, which few results need.
        from marqueue.results.optimum import fair_optimum

        return fair_optimum(self)

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences that limit the conclusions from the figures."""
        from marqueue.results.result_warnings import result_warnings

        return result_warnings(self)

    def summary(self) -> dict[str, Any]:
        """All figures in base units, ready for JSON.

        ``measured`` has the figures after the warm-up by ``links``, ``flows``, ``groups`` and
        ``classes``, each as ``mean``, ``half_width`` (of the 95% interval) and ``n``; ``windows``
        has the same by window; ``whole_run`` has the counts of flows.
        """
        from marqueue.results.summary import summary

        return summary(self, self.warnings, self.optimum, self.theory)

    def table(self) -> SummaryTable:
        """The main figures: ``print`` shows them as text, and rich as a table with lines."""
        from marqueue.results.summary import table

        return table(self)

    # Conversion

    def figures(self, window: Span = None) -> pa.Table:
        """Every figure of every link, of all flows, and of groups and classes of flows.

        One row per replication, figure, and link, group or class (all null: all flows). Columns:
        replication, link, group, class, figure, unit, value (null where there is none), in base
        units. :meth:`Link.figures` and :meth:`traffic` have the estimates over replications.
        """
        return values_table(self, window)

    def to_arrow(self, name: str = "series") -> pa.Table:
        """A table by name, with the unit of a column in the metadata of its field.

        Tables: figures (see :meth:`figures`), series, windows, flows, queue_histogram and
        delay_histogram; pipes if links are impaired; shares (of groups of traffic) if there is a
        CPU; modelled (links whose queue was a model) if the run is hybrid; frames of media flows;
        trace, tcp, path_model, paced, media, cwnd and cwnd_variance if the scenario records them.
        Raises KeyError, with the names of the tables.
        """
        if name == "figures":
            return self.figures()
        if name == "flows":
            return self.flows
        if name not in self.tables:
            raise KeyError(
                f"table {name!r}, expected one of: {', '.join(['figures', *self.tables])}"
            )
        return self.tables[name]

    def to_polars(self, name: str = "series") -> pl.DataFrame:
        """:meth:`to_arrow` as a Polars data frame; raises MissingExtra without Polars."""
        return polars_frame(self.to_arrow(name))

    def to_pandas(self, name: str = "series") -> pd.DataFrame:
        """:meth:`to_arrow` as a pandas data frame; raises MissingExtra without pandas.

        ``attrs["units"]`` has the units of its columns.
        """
        return pandas_frame(self.to_arrow(name))

    def to_xarray(self) -> xr.Dataset:
        """All time series and all flows as a labelled data set; raises MissingExtra without xarray.

        Series such as ``queue`` have the shape ``[replication, link, time]``, and those of flows,
        such as ``flow_goodput``, ``[replication, flow]``. Coordinates: ``replication`` from 0,
        ``link`` by name, ``time`` in s, ``flow`` by its number. Samples and flows that a
        replication does not have are NaN. ``attrs["units"]`` of a variable is its unit.

        >>> from marqueue import load, run
        >>> data = run(load("scenarios/first.toml", ["duration=12 s"])).to_xarray()
        >>> data.queue.dims, data.queue.attrs["units"], data.sizes["replication"]
        (('replication', 'link', 'time'), 'packets', 3)
        """
        return labelled(self)

    # Notebooks

    def _repr_html_(self) -> str:
        """The main figures as a table, and the queue over time as a picture (SVG)."""
        return str(import_module(SHOWN_BY).card(self))

    def view(self) -> View:
        """The charts of the result as a widget for Jupyter and marimo: hover, zoom, choose links
        and replications. Raises MissingExtra without anywidget.
        """
        view: View = import_module(SHOWN_BY).view(self)
        return view

    # Files

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes the result without a report into a new or empty directory, and returns its path.
        See :func:`marqueue.reports.save_with_report` for one with a report.

        The directory appears whole or not at all. Raises RunError if it cannot be written or is not
        empty.
        """
        with claim(directory) as output, output.staged() as fresh:
            self.write_files(fresh)
        return Path(directory)

    @paused_collector()
    def write_files(self, directory: Path, add: Callable[[Path], object] | None = None) -> None:
        """Writes the files of the result into an empty directory, such as that of an
        :class:`~marqueue.results.output_directory.OutputDirectory`.

        ``add`` is called with the directory before it is completed, and may write more files.

        Every file except ``circumstances.json`` is a function of scenario, seed, version and
        options of the run.
        """
        tables.write(self.tables, directory)
        if self.many_flows is not None:
            tables.write_parts(self.many_flows.parts(), directory / FLOWS)
        for link, file in pcapng.file_names(self).items():
            self.write_pcapng(directory / file, link)
        (directory / "scenario.toml").write_text(self.scenario_text, encoding="utf-8")
        write_json(directory / "plan.json", self.plan, sort_keys=False)
        write_json(directory / "summary.json", self.summary())
        for file, source in sources(self.scenario).items():
            (directory / file).write_bytes(source.encode())
        if add is not None:
            add(directory)
        # Not as a whole by asdict(), which copies the scenario value by value.
        provenance = dict(vars(self.provenance))
        circumstances = dataclasses.asdict(provenance.pop("circumstances"))
        kind = "run" if self.provenance.live is None else "live"
        seal_directory(directory, {"kind": kind, **provenance}, circumstances)

    def write_pcapng(
        self, path: str | os.PathLike[str], link: str, *, replication: int = 0
    ) -> Path:
        """Writes the packets of a traced link in both directions as a pcapng file for Wireshark.

        The file has what ``tcpdump`` would see at the near end of the link: packets at the start of
        their transmission, and packets of the reverse direction, if traced, on arrival. Raises
        KeyError if the link was not traced.
        """
        return pcapng.write(self, Path(path), link, replication)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Result:
        """Reads a result that :meth:`save` has written. Warns (PartialResult) if it is partial.

        Of more flows than :data:`~marqueue.results.many_flows.MANY` the file is read when it is
        needed, so it must stay.

        Every file is checked against its digest. Raises ResultError, with the file, if the
        directory is not the result of a run or a file has changed; OSError if a file cannot be
        read.
        """
        path = Path(directory)
        provenance = read_provenance(path)
        if provenance["kind"] not in ("run", "live"):
            raise ResultError(
                f"{path}: the output of marqueue {provenance['kind']}, expected the result of a run"
            )
        circumstances = read_circumstances(path, provenance)
        fields = {field.name for field in dataclasses.fields(Provenance)} - {"circumstances"}
        made = Provenance(
            **{name: provenance[name] for name in fields},
            circumstances=Circumstances(**circumstances),
        )
        if made.partial_remark:
            warnings.warn(f"{path}: {made.partial_remark}", PartialResult, stacklevel=2)
        names = [name for name in provenance["files"] if name.endswith(".parquet")]
        files = {name: verified(path, provenance, name) for name in names}
        many = None
        if (stored := tables.StoredRows(files[FLOWS])).num_rows > MANY:
            many = ManyFlows(stored)
            del files[FLOWS]
        found = tables.read(files.values())
        # Its values are in the provenance too. As TOML those of 10,000 links take 10 s.
        verified(path, provenance, "scenario.toml")
        plan, summary = (
            verified(path, provenance, name).read_text(encoding="utf-8")
            for name in ("plan.json", "summary.json")
        )
        with paused_collector():
            result = cls(made.scenario, json.loads(plan), made, found, many)
        if "theory" in json.loads(summary):
            result.add_theory()
        return result
