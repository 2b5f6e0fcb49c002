"""Traces as files: in the directory of a result, or where a user wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from marqueue.errors import RunError, unknown
from marqueue.extras import require
from marqueue.results.data import ResultData
from marqueue.scenario import Scenario, compile
from marqueue.traces.choice import Choice, nothing_traced
from marqueue.traces.qlog import SUFFIX, qlog
from marqueue.traces.qlog_0_3 import qlog_0_3

OF_FLOWS: dict[str, Callable[[Choice, int], bytes]] = {"qlog": qlog, "qlog-0.3": qlog_0_3}
"""Formats with a file for each flow, with the function that makes it."""
FORMATS = (*OF_FLOWS, "perfetto")
PERFETTO_FILE = "trace.pftrace"
"""In the directory of a result."""


def check_format(option: str, name: str) -> None:
    """Raises RunError if there is no such format, MissingExtra if a package for it is missing."""
    if name not in FORMATS:
        raise RunError(f"{option}: {unknown(name, FORMATS)}")
    if name == "perfetto":
        require("perfetto", f"{option} perfetto")


def refuse_untraced(scenario: Scenario, formats: Sequence[str]) -> None:
    """Raises RunError, before a run, if a trace of it would be empty."""
    if not formats:
        return
    plan = compile(scenario)
    kinds = [kind for entry in plan["traffic"] for kind in entry["kind"].values()]
    flows = any(kind.get("trace") for kind in kinds)
    links = any(link["trace"] for link in plan["links"])
    for name in formats:
        if not flows and (name in OF_FLOWS or not links):
            raise nothing_traced(name)


def files_of_flows(choice: Choice, name: str) -> Iterator[tuple[str, bytes]]:
    """The name and the content of the file of each chosen flow, in a format of
    :data:`OF_FLOWS`."""
    version = name.removeprefix("qlog")
    for flow in choice.chosen_flows:
        yield f"flow-{flow}{version}{SUFFIX}", OF_FLOWS[name](choice, flow)


def write_into_result(result: ResultData, directory: Path, formats: Sequence[str]) -> None:
    """Writes traces of the first replication into the directory of a result that is being made."""
    choice = Choice(result)
    for name in formats:
        if name in OF_FLOWS:
            for file, content in files_of_flows(choice, name):
                (directory / file).write_bytes(content)
        else:
            # An optional package, and slow to import.
            from marqueue.traces.perfetto import perfetto

            (directory / PERFETTO_FILE).write_bytes(perfetto(choice))
