"""Where the command speaks: results on standard output, everything else on standard error."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from marqueue.run import Progress as Callback

output = Console()
errors = Console(stderr=True)

PATIENCE = 1.0
"""Seconds before a progress bar appears."""


def table(*columns: str) -> Table:
    """An empty table with these columns, without lines."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column)
    return empty


def print_json(value: Any) -> None:
    """JSON alone on standard output."""
    print(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False))


@contextmanager
def progress_bar(what: str) -> Iterator[Callback | None]:
    """A bar with an estimate of the time left, on a terminal and for long work."""
    if not errors.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, visible=False)

        def update(done: float, total: float) -> None:
            visible = time.monotonic() - started > PATIENCE
            bar.update(task, completed=done, total=total, visible=visible)

        yield update
