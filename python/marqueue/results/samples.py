"""Samples of figures from the output of the engine, for stopping rules: they need figures before
there is a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marqueue.results import labels, tables
from marqueue.results.columns import Raw
from marqueue.results.figure import Columns
from marqueue.results.flow_sums import Part, Selection, flow_sums
from marqueue.results.flow_table import FlowRows
from marqueue.results.flows import FlowColumns, flow_sets
from marqueue.results.link import Link
from marqueue.results.link_tables import LinkTables
from marqueue.results.many_flows import MANY
from marqueue.results.subject import Subject
from marqueue.results.window_columns import WindowColumns
from marqueue.scenario import Scenario, compile


def samples_of(
    scenario: Scenario, raws: Sequence[Raw], wanted: Sequence[Subject], flows_before: int = 0
) -> dict[Subject, Sequence[Any] | Columns]:
    """The samples of each subject over the measured time, one per replication.

    The replications must be complete. If they have more flows than
    :data:`~marqueue.results.many_flows.MANY`, together with the ``flows_before`` of which there are
    samples already, samples are sums and sketches and not the values of each flow.
    """
    plan = compile(scenario)
    measured = range(labels.warmup_windows(scenario.to_dict()), len(plan["boundaries"]) + 1)
    links = [each.name for each in wanted if each.kind == "link"]
    flows = [each for each in wanted if each.kind != "link"]
    windows = _windows(plan, raws, links, measured) if links else {}
    return {
        **{Subject("link", name): of for name, of in windows.items()},
        **(_flows(scenario, plan, raws, flows, measured, flows_before) if flows else {}),
    }


def _windows(
    plan: Mapping[str, Any], raws: Sequence[Raw], links: Sequence[str], measured: range
) -> dict[str, WindowColumns]:
    data = {
        "series": tables.series_table(plan, raws),
        "windows": tables.windows_table(plan, raws),
        "queue_histogram": tables.queue_histogram_table(plan, raws),
        "delay_histogram": tables.delay_histogram_table(plan, raws),
    }
    divided = LinkTables(plan, data)
    return {
        name: WindowColumns.of_windows(Link(divided, name, measured).windows()) for name in links
    }


def _flows(
    scenario: Scenario,
    plan: Mapping[str, Any],
    raws: Sequence[Raw],
    wanted: Sequence[Subject],
    measured: range,
    before: int,
) -> dict[Subject, Sequence[Any]]:
    groups, classes = labels.group_names(scenario, plan), labels.result_classes(scenario)
    rows = FlowRows(plan, raws, groups, classes, measured.start)
    edges = np.array([0, *plan["boundaries"], plan["duration"]]) / 1e9
    span = float(edges[measured.start]), float(edges[-1])
    ends = np.full(len(raws), edges[-1])
    if before + rows.num_rows > MANY:
        part = Part(tuple(measured), span)
        of = {each: (part, Selection(**each.selection)) for each in wanted}
        sums = flow_sums(rows.parts(), of.values(), ends)
        return {each: sums[key] for each, key in of.items()}
    columns = FlowColumns(rows.table())
    return {each: flow_sets(columns, measured, span, ends, **each.selection) for each in wanted}
