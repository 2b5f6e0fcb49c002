"""Which replication, flows, links and time of a result go into a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from marqueue.errors import RunError
from marqueue.results.data import ResultData
from marqueue.results.labels import result_classes
from marqueue.results.rows import rows_where

MOST_EVENTS = 2_000_000
"""Largest number of events in one file. Viewers hold all of them in memory."""


@dataclass(frozen=True)
class Choice:
    """A part of a result. Raises RunError where something that was not traced is asked for."""

    result: ResultData
    replication: int = 0
    """Counted from 0."""
    flows: tuple[int, ...] = ()
    """Rows of flows; all traced flows if empty."""
    links: tuple[str, ...] = ()
    """Names of links; all traced links if empty."""
    begin: float = 0.0
    """Of the time, s."""
    end: float = float("inf")
    """Of the time, s; events at it are left out."""

    def __post_init__(self) -> None:
        count = self.result.replications
        if self.replication >= count:
            raise RunError(f"replication {self.replication}, expected a number below {count}")
        if not self.end > self.begin:
            raise RunError(
                f"from {self.begin:g} s to {self.end:g} s, expected an end after the begin"
            )
        _known("flow", self.flows, self._all_flows, "trace = true on TCP or QUIC traffic")
        _known("link", self.links, self._all_links, "trace = true on a link")

    @cached_property
    def tcp(self) -> pa.Table | None:
        """Changes of all traced TCP senders in the replication and time; None if none is traced."""
        return self._part("tcp")

    @cached_property
    def packets(self) -> pa.Table | None:
        """Packets at all traced links in the replication and time; None if no link is traced."""
        return self._part("trace")

    def _part(self, name: str) -> pa.Table | None:
        if name not in self.result.tables:
            return None
        # Slow to import, and only traced runs have these tables.
        import pyarrow.compute as pc

        table = rows_where(self.result.tables[name], "replication", self.replication)
        within = pc.and_(
            pc.greater_equal(table["t"], self.begin),
            pc.less(table["t"], self.end),
        )
        return table.filter(within)

    @cached_property
    def _all_flows(self) -> tuple[int, ...]:
        if "tcp" not in self.result.tables:
            return ()
        rows = rows_where(self.result.tables["tcp"], "replication", self.replication)
        return tuple(sorted(set(rows["flow"].to_pylist())))

    @cached_property
    def _all_links(self) -> tuple[str, ...]:
        return tuple(link["name"] for link in self.result.plan["links"] if link["trace"])

    @property
    def chosen_flows(self) -> tuple[int, ...]:
        """The rows of the flows."""
        return self.flows or self._all_flows

    @property
    def chosen_links(self) -> tuple[str, ...]:
        """The names of the links, in the order of the plan."""
        return tuple(name for name in self._all_links if not self.links or name in self.links)

    def check_size(self, tables: Iterable[pa.Table]) -> None:
        """Raises RunError if these rows are more than a file may have."""
        rows = sum(table.num_rows for table in tables)
        if rows > MOST_EVENTS:
            raise RunError(
                f"{rows} events, expected at most {MOST_EVENTS} in a file: choose flows or links, "
                "or a shorter time"
            )

    @cached_property
    def _flow_rows(self) -> dict[int, dict[str, object]]:
        rows = rows_where(self.result.flows, "replication", self.replication)
        columns = ("flow", "group", "kind", "class", "start")
        return {int(row["flow"]): row for row in rows.select(columns).to_pylist()}

    def group(self, flow: int) -> str:
        """The group of traffic to which a flow belongs."""
        return str(self._flow_rows[flow]["group"])

    def kind(self, flow: int) -> str:
        """The kind of a flow, as the table of flows has it."""
        return str(self._flow_rows[flow]["kind"])

    def label(self, flow: int) -> str:
        """How a flow is called: its number and its group."""
        return f"flow {flow} ({self.group(flow)})"

    def start(self, flow: int) -> float:
        """When a flow starts, s."""
        return float(str(self._flow_rows[flow]["start"]))

    def route(self, flow: int) -> tuple[Sequence[str], Sequence[str]]:
        """The names of the links that a flow's data cross, and of those of its acknowledgements."""
        classes = result_classes(self.result.checked_scenario)
        name = str(self._flow_rows[flow]["class"])
        of_class = classes.names.index(name)
        index = next(
            i
            for i, (first, parts) in enumerate(zip(classes.first, classes.parts, strict=True))
            if first <= of_class < first + parts
        )
        names = [link["name"] for link in self.result.plan["links"]]
        route = self.result.plan["routes"][index]
        return [names[i] for i in route["forward"]], [names[i] for i in route["reverse"]]


def nothing_traced(name: str) -> RunError:
    """The error for a trace that would be empty: ``name`` is its format."""
    what = "TCP or QUIC traffic" if name.startswith("qlog") else "a link or on TCP or QUIC traffic"
    return RunError(
        f"{name}: nothing is traced, expected trace = true on {what} "
        "(such as --set traffic.NAME.trace=true for marqueue run)"
    )


def _known(what: str, given: Sequence[object], known: Sequence[object], how: str) -> None:
    for each in given:
        if each not in known:
            listed = ", ".join(str(k) for k in known[:20])
            raise RunError(
                f"{what} {each}: not traced, expected "
                + (f"one of: {listed}" if known else f"{how} in the scenario")
            )
