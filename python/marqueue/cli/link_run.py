"""What ``marqueue link`` does once its options are read: it runs the command, shows the link
meanwhile, and keeps what it measured."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from marqueue.cli import options
from marqueue.cli.console import errors, say
from marqueue.cli.link_page import page
from marqueue.cli.link_status import StatusLine
from marqueue.errors import RunError
from marqueue.live import internet as internet_access
from marqueue.live import requirements
from marqueue.live.audit import audit_summary
from marqueue.live.link import LinkOutcome, run_behind
from marqueue.live.link_result import as_dict, link_measurements, table
from marqueue.live.process_tree import INHERITED, Pipes
from marqueue.live.recording import EVERY, Recording, Watcher
from marqueue.live.termination import signals_raise
from marqueue.results import Result
from marqueue.results.integrity import write_json
from marqueue.results.output_directory import OutputDirectory
from marqueue.scenario import Scenario


@dataclass(frozen=True)
class Display:
    """What is to be shown while the command runs, and where to keep what was measured."""

    line: bool
    page: bool
    json: Path | None
    report: OutputDirectory | None


def check_json_place(json: Path | None) -> None:
    """Raises RunError, before the command runs, if what it measures cannot be written."""
    if json and (json.is_dir() or not json.absolute().parent.is_dir()):
        raise RunError(f"{json}: cannot be written, expected a file in a directory that exists")


def run_and_tell(
    scenario: Scenario,
    plan: Mapping[str, Any],
    mtu: int,
    command: Sequence[str],
    wanted: Display,
    *,
    internet: bool,
) -> int:
    """Runs a command behind a link; gives its exit code."""
    if internet:
        requirements.require(["nft"])
        for each in internet_access.blocking_settings():
            say(f"Warning: {each}")
    names = {n: link["name"] for n, link in enumerate(plan["links"])}
    recording = Recording()
    keep: list[Watcher] = [recording] if wanted.json or wanted.report else []
    sampled = keep or wanted.line or wanted.page
    plan = {**plan, "sample": round(EVERY * 1e9) if sampled else 0}
    with signals_raise():
        with _shown(wanted, names) as (watchers, pipes):
            ended = run_behind(
                plan,
                scenario.seed,
                mtu,
                command,
                internet=internet,
                watchers=[*keep, *watchers],
                pipes=pipes,
            )
        result = link_measurements(scenario, plan, command, ended, recording)
        _keep(result, wanted)
        # A terminal that is gone can be told nothing.
        with suppress(OSError):
            _tell(result, ended, wanted)
    return ended.exit_code


@contextmanager
def _shown(wanted: Display, names: Mapping[int, str]) -> Iterator[tuple[list[Watcher], Pipes]]:
    """Who shows the link, and where the command reads and writes meanwhile."""
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
    """What the command would write to the terminal goes to a file, and it reads nothing there."""
    out = written.fileno()
    nothing = subprocess.DEVNULL if sys.stdin.isatty() else None
    return Pipes(nothing, out if sys.stdout.isatty() else None, out)


def _show_what_was_written(written: IO[bytes]) -> None:
    written.seek(0)
    with suppress(OSError), open(os.dup(sys.stderr.fileno()), "wb") as terminal:
        shutil.copyfileobj(written, terminal)


def _keep(result: Result, wanted: Display) -> None:
    if wanted.json:
        try:
            write_json(wanted.json, as_dict(result), sort_keys=False)
        except OSError as error:
            raise RunError(f"{wanted.json}: cannot be written: {error.strerror or error}") from None
    if wanted.report:
        with wanted.report.staged() as fresh:
            result.write_files(fresh, options.report_of(result))


def _tell(result: Result, ended: LinkOutcome, wanted: Display) -> None:
    """Says what the link measured."""
    assert result.provenance.live
    errors.print(table(result))
    say(f"Link: {audit_summary(ended.raw['audit'])}")
    for each in result.provenance.live["invalid_reasons"]:
        say(f"Error: invalid: {each}")
    if wanted.report:
        say(f"Report: {wanted.report.shown / 'report.html'}")
