"""The data of a result: scenario, plan, provenance and tables, and access to links and flows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import tomli_w

from marqueue.errors import one_of
from marqueue.results import labels, tables
from marqueue.results.congestion_windows import CongestionWindows, cwnds
from marqueue.results.figure import Figure
from marqueue.results.flow_sums import Part, Selection, Wanted, flow_sums
from marqueue.results.flows import (
    FLOW_FIGURES,
    RUN_FIGURES,
    FlowColumns,
    Flows,
    MeasuredFlows,
    flow_sets,
)
from marqueue.results.link import Link
from marqueue.results.link_tables import LinkTables
from marqueue.results.many_flows import MOST_AT_ONCE, MOST_TOGETHER, ManyFlows
from marqueue.results.media import MEDIA_FIGURES, frame_sets
from marqueue.results.pipe import Pipe
from marqueue.results.provenance import Provenance
from marqueue.results.timeline import Span, Timeline
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Estimate

#: The confidence level of every interval that is reported.
CONFIDENCE = 0.95


class ResultData(Timeline):
    """The scenario, the plan, the provenance and the tables of a result, with access by name.

    This is what summaries, figures and exports read. :class:`~marqueue.results.result.Result` adds
    them and the files.
    """

    def __init__(
        self,
        scenario: Mapping[str, Any],
        plan: Mapping[str, Any],
        provenance: Provenance,
        tables: Mapping[str, pa.Table],
        many_flows: ManyFlows | None = None,
    ) -> None:
        self.scenario = dict(scenario)
        self.plan = dict(plan)
        self.provenance = provenance
        self.tables = dict(tables)
        self._flow_figures: dict[object, dict[str, Estimate]] = {}
        self.many_flows = many_flows
        """The flows, if they are more than :data:`MANY`; the tables are then without them."""

    # The scenario

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario["name"])

    @cached_property
    def checked_scenario(self) -> Scenario:
        """The scenario as tables that have been checked, instead of their values."""
        return Scenario.model_validate(self.scenario)

    @cached_property
    def scenario_text(self) -> str:
        """The scenario as TOML."""
        return tomli_w.dumps(self.scenario)

    @cached_property
    def links(self) -> list[str]:
        """The names of the metered links."""
        return tables.link_names(self.plan)

    @cached_property
    def plan_groups(self) -> list[str]:
        """The group of the scenario to which each entry of the plan's traffic belongs."""
        return labels.group_names(self.checked_scenario, self.plan)

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups of traffic."""
        return list(dict.fromkeys(self.plan_groups))

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes of routes, in the order of the scenario."""
        return labels.class_names(self.checked_scenario)

    # The measurements

    @cached_property
    def _links(self) -> dict[str, Link]:
        divided = LinkTables(self.plan, self.tables)
        return {name: Link(divided, name, self.measured) for name in self.links}

    def link(self, name: str | None = None) -> Link:
        """One metered link; the name may be omitted if there is only one.

        Raises KeyError, with the names of the links.
        """
        if name is None and len(self.links) == 1:
            name = self.links[0]
        if name not in self._links:
            raise KeyError(f"link {name!r}, expected {one_of(self.links)}")
        return self._links[name]

    @property
    def pipes(self) -> list[str]:
        """The names of the impaired links."""
        return tables.pipe_names(self.plan)

    @cached_property
    def _pipes(self) -> dict[str, Pipe]:
        table = self.tables.get("pipes")
        return {name: Pipe(self.plan, table, name, self.measured) for name in self.pipes}

    def pipe(self, name: str | None = None) -> Pipe:
        """The pipe of one impaired link; the name may be omitted if there is only one.

        Raises KeyError, with the names of the impaired links.
        """
        if name is None and len(self.pipes) == 1:
            name = self.pipes[0]
        if name not in self._pipes:
            raise KeyError(f"pipe {name!r}, expected one of: {', '.join(self.pipes) or 'none'}")
        return self._pipes[name]

    @property
    def flows(self) -> pa.Table:
        """One row per flow, with the unit of each column in the metadata of its field.

        Columns: replication, flow, group, kind, class, start, stop, end, fct (s, null if there is
        none), size (packets, 0 if unlimited), delivered_W (bytes of payload delivered in order in
        window W), sent, retransmits (packets), timeouts, ecn_cuts, goodput (bit/s, over the part
        of the measured time in which the flow was active). The counts from sent to ecn_cuts cover
        the whole run.

        If there are more than :data:`~marqueue.results.many_flows.MANY`, the table is made at each
        call, and takes about 120 bytes a flow.
        """
        if self.many_flows is not None:
            return self.many_flows.table()
        return self.tables["flows"]

    @property
    def flow_count(self) -> int:
        """Number of flows, over all replications."""
        if self.many_flows is not None:
            return self.many_flows.num_rows
        return int(self.tables["flows"].num_rows)

    @cached_property
    def _flow_columns(self) -> FlowColumns:
        return FlowColumns(self.flows)

    def flow_sets(
        self, window: Span = None, *, group: str | None = None, class_: str | None = None
    ) -> list[Flows]:
        """The flows, of one group or class if given, in a window: one entry per replication that
        reached the window.
        """
        windows, span = self._part(window)
        return flow_sets(self._flow_columns, windows, span, self.ends, group=group, class_=class_)

    def measured_flows(
        self, window: Span = None, *, group: str | None = None, class_: str | None = None
    ) -> Sequence[MeasuredFlows]:
        """What the figures need of :meth:`flow_sets`. If there are more flows than
        :data:`~marqueue.results.many_flows.MANY`, quantiles are within 1 %, and nothing has a value
        for each flow.
        """
        if self.many_flows is None:
            return self.flow_sets(window, group=group, class_=class_)
        wanted = self._part(window), Selection(group, class_)
        return self.many_flows.sums(wanted, self._usual_sums, self.ends)

    def samples_of_flows(
        self, selections: Sequence[Mapping[str, str]], window: Span = None
    ) -> Iterator[Sequence[MeasuredFlows]]:
        """:meth:`measured_flows` of each of many selections, which are its arguments. If there are
        more flows than :data:`~marqueue.results.many_flows.MANY`, it goes through them once for
        thousands of selections."""
        if self.many_flows is None:
            for each in selections:
                yield self.measured_flows(window, **each)
            return
        part = self._part(window)
        for first in range(0, len(selections), MOST_TOGETHER):
            some = [(part, Selection(**each)) for each in selections[first : first + MOST_TOGETHER]]
            sums = flow_sums(self.many_flows.parts(), some, self.ends)
            yield from (sums[each] for each in some)

    def _part(self, window: Span) -> Part:
        windows = self.measured if window is None else (window,)
        return Part(tuple(windows), self.span(window))

    def _usual_sums(self) -> list[Wanted]:
        """What a summary and a report show of flows."""
        groups, classes = self.groups[:MOST_AT_ONCE], self.classes[:MOST_AT_ONCE]
        alone = [Selection(), *map(Selection, groups), *(Selection(None, c) for c in classes)]
        both = [Selection(group, class_) for group in groups for class_ in classes]
        return [
            *((self._part(window), each) for window in (None, *self.begun) for each in alone),
            *((self._part(None), each) for each in both if len(both) <= MOST_AT_ONCE),
        ]

    def traffic(
        self, window: Span = None, *, group: str | None = None, class_: str | None = None
    ) -> dict[str, Estimate]:
        """The figures of all flows, of one group or of one class, by name: goodput and
        goodput_per_flow (bit/s), flows, jain, started, done, fct_mean, fct_median, fct_p95 and
        fct_p99 (s), estimated over replications.
        """
        return self._estimates(FLOW_FIGURES, window, group, class_)

    @cached_property
    def media_groups(self) -> list[str]:
        """The groups of media flows."""
        kinds = dict(zip(self.plan_groups, self.plan["traffic"], strict=True))
        return [group for group in self.groups if "media" in kinds[group]["kind"]]

    def media(self, window: Span = None, *, group: str | None = None) -> dict[str, Estimate]:
        """The figures of all media flows, or of those of one group, by name: frame_delay_mean,
        frame_delay_p95 and frame_delay_p99 (s), frames_lost and frozen (shares), freezes (a minute
        of a flow) and media_rate (bit/s), estimated over replications. Empty without media flows.
        """
        if "frames" not in self.tables:
            return {}
        columns = self._flow_columns
        rows = columns.rows(group)
        flows: list[dict[int, float]] = [{} for _ in range(self.replications)]
        for r, flow, stop in zip(
            *(columns[name][rows] for name in ("replication", "flow", "stop")), strict=True
        ):
            flows[int(r)][int(flow)] = float(stop)
        sets = frame_sets(self.tables["frames"], flows, self.span(window), self.ends)
        return {f.name: f.estimate(sets, CONFIDENCE) for f in MEDIA_FIGURES}

    def cwnds(self, window: Span = None, *, group: str) -> list[CongestionWindows]:
        """The sampled congestion windows of a group in a measuring window, one entry per
        replication. ``window`` may be omitted if there is only one after the warm-up.

        Raises KeyError if the windows were not sampled.
        """
        if window is None:
            [window] = self.measured
        return cwnds(self.tables, group, window, *self.span(window))

    def run_totals(
        self, *, group: str | None = None, class_: str | None = None
    ) -> dict[str, Estimate]:
        """Counts of flows over the whole run, including the warm-up, by name of the figure."""
        return self._estimates(RUN_FIGURES, None, group, class_)

    def _estimates(
        self,
        figures: Sequence[Figure[MeasuredFlows]],
        window: Span,
        group: str | None,
        class_: str | None,
    ) -> dict[str, Estimate]:
        """Figures of flows; summary, table and report ask for the same ones."""
        key = (tuple(f.name for f in figures), window, group, class_)
        if key not in self._flow_figures:
            sets = self.measured_flows(window, group=group, class_=class_)
            self._flow_figures[key] = {f.name: f.estimate(sets, CONFIDENCE) for f in figures}
        return dict(self._flow_figures[key])
