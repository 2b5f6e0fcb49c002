"""Runs the command of ``marqueue link``, shows the link meanwhile, and writes the measurements."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from marqueue.cli import options
from marqueue.cli.console import errors, say
from marqueue.cli.link_page import page
from marqueue.cli.link_status import StatusLine
from marqueue.json_text import dump_json
from marqueue.live import internet as internet_access
from marqueue.live import requirements
from marqueue.live.audit import audit_summary
from marqueue.live.isolation import isolated_processor
from marqueue.live.link import LinkOutcome, run_behind
from marqueue.live.link_result import as_dict, link_measurements, table
from marqueue.live.machine import Timers
from marqueue.live.process_tree import INHERITED, Pipes
from marqueue.live.recording import EVERY, Recording, Watcher
from marqueue.live.termination import signals_raise
from marqueue.results import Result
from marqueue.results.output_directory import OutputDirectory
from marqueue.results.output_file import write_output_file
from marqueue.scenario import Scenario

MEASURED = 0.25
"""How long the machine is measured before a command starts, s."""


@dataclass(frozen=True)
class Display:
    """What is shown while the command runs, and where measurements are written."""

    line: bool
    page: bool
    json: Path | None
    report: OutputDirectory | None
    metrics: tuple[str, int] | None
    """Host and port where Prometheus finds the state of the link."""


def run_and_report(
    scenario: Scenario,
    plan: Mapping[str, Any],
    mtu: int,
    command: Sequence[str],
    wanted: Display,
    *,
    internet: bool,
    strict: bool,
) -> int:
    """Runs a command behind a link, which with ``strict`` has a processor for itself, and returns
    its exit code."""
    if internet:
        requirements.require(["nft"])
        for each in internet_access.blocking_settings():
            say(f"Warning: {each}")
    # Without timers there is nothing to measure.
    timers = None if strict else Timers.measure(MEASURED)
    if timers and (doubt := timers.doubt(_packet_time(plan))):
        say(f"Warning: {doubt}")
    names = {n: link["name"] for n, link in enumerate(plan["links"])}
    recording = Recording()
    keep: list[Watcher] = [recording] if wanted.json or wanted.report else []
    sampled = keep or wanted.line or wanted.page or wanted.metrics
    plan = {**plan, "sample": round(EVERY * 1e9) if sampled else 0}
    with signals_raise():
        with (
            isolated_processor() if strict else nullcontext() as own,
            _served(wanted, names) as served,
            _shown(wanted, names) as (watchers, pipes),
        ):
            ended = run_behind(
                plan,
                scenario.seed,
                mtu,
                command,
                longest_poll=timers.longest_poll if timers else None,
                own=own,
                internet=internet,
                watchers=[*keep, *served, *watchers],
                pipes=pipes,
            )
        result = link_measurements(scenario, plan, command, ended, recording, timers)
        _write(result, wanted)
        # The terminal may be gone.
        with suppress(OSError):
            _print(result, ended, wanted)
    return ended.exit_code


def _packet_time(plan: Mapping[str, Any]) -> float:
    """The shortest time that a queue of the plan takes for a packet of mean size, s."""
    times: list[float] = []
    for link in plan["links"]:
        fastest = max([link["rate"], *(rate for _, rate in link["schedule"])])
        times.append(8 * link["queue"]["mean_packet"] / fastest)
    return min(times)


@contextmanager
def _served(wanted: Display, names: Mapping[int, str]) -> Iterator[list[Watcher]]:
    """The watcher that serves the state of the link, if it is wanted."""
    if wanted.metrics is None:
        yield []
        return
    # Of an extra, which few have.
    from marqueue.live.metrics import LinkMetrics, served

    watcher = LinkMetrics(names)
    with served(wanted.metrics, watcher):
        host, port = wanted.metrics
        say(f"Metrics: http://{host}:{port}/metrics")
        yield [watcher]


@contextmanager
def _shown(wanted: Display, names: Mapping[int, str]) -> Iterator[tuple[list[Watcher], Pipes]]:
    """The watchers that show the link, and the streams of the command meanwhile."""
    if wanted.page:
        with tempfile.TemporaryFile() as written:
            try:
                with page(names, written) as watcher:
                    yield [watcher], _aside(written)
            finally:
                _show_what_was_written(written)
    elif wanted.line:
        line = StatusLine(sys.stderr.fileno(), names)
        before = signal.signal(signal.SIGTSTP, line.stop)
        try:
            yield [line], INHERITED
        finally:
            signal.signal(signal.SIGTSTP, before)
            line.close()
    else:
        yield [], INHERITED


def _aside(written: IO[bytes]) -> Pipes:
    """Streams of a command without terminal: output goes to a file, input is empty."""
    out = written.fileno()
    nothing = subprocess.DEVNULL if sys.stdin.isatty() else None
    return Pipes(nothing, out if sys.stdout.isatty() else None, out)


def _show_what_was_written(written: IO[bytes]) -> None:
    written.seek(0)
    with suppress(OSError), open(os.dup(sys.stderr.fileno()), "wb") as terminal:
        shutil.copyfileobj(written, terminal)


def _write(result: Result, wanted: Display) -> None:
    if wanted.json:
        write_output_file(wanted.json, dump_json(as_dict(result), sort_keys=False))
    if wanted.report:
        with wanted.report.staged() as fresh:
            result.write_files(fresh, options.report_of(result))


def _print(result: Result, ended: LinkOutcome, wanted: Display) -> None:
    """Prints the measurements."""
    assert result.provenance.live
    errors.print(table(result))
    say(f"Link: {audit_summary(ended.raw['audit'])}")
    for each in result.provenance.live["remarks"]:
        say(f"Warning: {each}")
    for each in result.provenance.live["invalid_reasons"]:
        say(f"Error: invalid: {each}")
    if wanted.report:
        say(f"Report: {wanted.report.shown / 'report.html'}")
