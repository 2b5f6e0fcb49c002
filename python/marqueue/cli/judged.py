"""Work that ends in verdicts: runs it with its progress, and writes and prints what it found."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import typer
from rich.console import Console, RenderableType

from marqueue.cli import options
from marqueue.cli.console import ReportedInterrupt, output, print_json, progress_bar, say
from marqueue.results.provenance import Circumstances, here

T = TypeVar("T")

WIDTH = 160
"""The least width of a table in columns."""

Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Work(Generic[T]):
    """What is done, and how its outcome is shown."""

    name: str
    """In the progress."""
    do: Callable[[Progress], T]
    write: Callable[[T, Circumstances, Path], None]
    """Writes the report into an empty directory."""
    table: Callable[[T], RenderableType]
    plain: Callable[[T], Any]
    """Ready for JSON."""
    failed: Callable[[T], bool]


def run_and_show(work: Work[T], out: Path | None, *, force: bool, json: bool) -> None:
    """Does the work. Raises typer.Exit with code 1 if its outcome is a failure."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    with options.claimed(out, "", force) if out else nullcontext() as directory:
        try:
            with progress_bar(work.name) as progress:
                found = work.do(progress)
        except KeyboardInterrupt:
            say("Interrupted. Nothing was written.")
            raise ReportedInterrupt from None
        if directory:
            with directory.staged() as fresh:
                made = here(started_at, time.perf_counter() - started, time.process_time(), 0)
                work.write(found, made, fresh)
    if json:
        print_json(work.plain(found))
    else:
        Console(width=max(output.width, WIDTH)).print(work.table(found))
        if directory:
            options.tell_where(directory)
    if work.failed(found):
        raise typer.Exit(1)
