"""Traces as files: in the directory of a result, or where a user wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from marqueue.errors import RunError, unknown
from marqueue.extras import require
from marqueue.results.data import ResultData
from marqueue.scenario import Scenario, compile
from marqueue.traces.choice import Choice, nothing_traced
from marqueue.traces.qlog import file_name, qlog

FORMATS = ("qlog", "perfetto")
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
        if not flows and (name == "qlog" or not links):
            raise nothing_traced(name)


def qlog_files(choice: Choice) -> Iterator[tuple[str, bytes]]:
    """The name and the content of the file of each chosen flow."""
    for flow in choice.chosen_flows:
        yield file_name(flow), qlog(choice, flow)


def write_into_result(result: ResultData, directory: Path, formats: Sequence[str]) -> None:
    """Writes traces of the first replication into the directory of a result that is being made."""
    choice = Choice(result)
    for name in formats:
        if name == "qlog":
            for file, content in qlog_files(choice):
                (directory / file).write_bytes(content)
        else:
            # An optional package, and slow to import.
            from marqueue.traces.perfetto import perfetto

            (directory / PERFETTO_FILE).write_bytes(perfetto(choice))
