"""Output of the command: results on standard output, everything else on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from marqueue.errors import RunError
from marqueue.json_text import dump_json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from marqueue.results.summary_table import SummaryTable
    from marqueue.simulation.checkpoints import Checkpoints
    from marqueue.simulation.executor import Progress as Callback

    output: Console
    errors: Console


@cache
def _console(name: str) -> Console:
    """Rich's console for standard output or standard error."""
    # Rich takes as long to import as numpy.
    from rich.console import Console

    return Console(stderr=name == "errors")


def __getattr__(name: str) -> Any:
    """``output`` and ``errors``, made on first use (PEP 562): most runs need neither."""
    if name not in ("output", "errors"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _console(name)


PATIENCE = 1.0
"""Seconds before a progress bar appears."""

_ANY_WIDTH = 100_000
"""Columns, more than any table has."""

LINE_EVERY = 30.0
"""Seconds between lines of progress if standard error is not a terminal."""


def table(*columns: str) -> Table:
    """An empty table with these columns, without borders."""
    from rich.table import Table

    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column)
    return empty


def terminal_width() -> int | None:
    """The width of standard output in columns; None if it is not a terminal."""
    return _console("output").width if sys.stdout.isatty() else None


def print_table(content: RenderableType) -> None:
    """Prints a table. Where standard output is not a terminal, it is as wide as the table needs."""
    from rich.console import Console
    from rich.measure import Measurement

    output = _console("output")
    if output.is_terminal:
        output.print(content)
    else:
        options = output.options.update(max_width=_ANY_WIDTH)
        natural = Measurement.get(output, options, content).maximum
        Console(width=max(output.width, natural)).print(content)


def show(figures: SummaryTable) -> None:
    """Prints the figures of a result: with lines on a terminal, as text elsewhere."""
    if sys.stdout.isatty():
        _console("output").print(figures)
    else:
        print(figures)


def print_json(value: Any) -> None:
    """Prints JSON on standard output."""
    print(dump_json(value), end="")


def say(remark: str) -> None:
    """Prints a remark on standard error."""
    print(remark, file=sys.stderr)


class ReportedInterrupt(KeyboardInterrupt):
    """An interrupt that has been reported to the user."""


@contextmanager
def resumable(checkpoints: Checkpoints) -> Iterator[None]:
    """Reports checkpoints: at the start if the run continues from them, and if it ends early."""
    if checkpoints.resume:
        say(
            f"Continuing from {checkpoints.path}."
            if checkpoints.exists
            else f"No checkpoints in {checkpoints.path}: starting from the beginning."
        )
    try:
        with _kept(checkpoints):
            yield
    except KeyboardInterrupt:
        say(f"Interrupted. {checkpoints.remark or 'Nothing was written.'}")
        raise ReportedInterrupt from None
    except MemoryError:
        if checkpoints.exists:
            say(checkpoints.remark)
        raise
    except RunError as error:
        if not checkpoints.exists:
            raise
        raise RunError(f"{error}\n{checkpoints.remark}") from None


@contextmanager
def _kept(checkpoints: Checkpoints) -> Iterator[None]:
    """Stores what has been completed if the block fails."""
    try:
        yield
    except BaseException:
        # What cannot be stored is not more than the first second's work, and the error is told.
        with suppress(RunError):
            checkpoints.keep()
        raise


@contextmanager
def progress_bar(what: str) -> Iterator[Callback]:
    """Shows progress with an estimate of the time left: a bar on a terminal, otherwise a line every
    :data:`LINE_EVERY` seconds."""
    if not sys.stderr.isatty():
        yield _Lines(what)
        return
    # Slow to import, and not needed without a terminal.
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=_console("errors"), transient=True) as bar:
        task = bar.add_task(what, visible=False)

        def update(done: float, total: float) -> None:
            visible = time.monotonic() - started > PATIENCE
            bar.update(task, completed=done, total=total, visible=visible)

        yield update


class _Lines:
    """Progress as lines, for files and logs."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.last = time.monotonic()
        self.first: tuple[float, float] | None = None
        """Time and progress of the first call; checkpoints count as progress but took no time."""

    def __call__(self, done: float, total: float) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = now, done
        if now - self.last < LINE_EVERY:
            return
        self.last = now
        began, before = self.first
        left = (total - done) * (now - began) / (done - before) if done > before else None
        say(progress_line(self.what, done / total, left))


def progress_line(what: str, share: float, seconds_left: float | None) -> str:
    """``Small: 40% done, about 0:02:30 left``."""
    if seconds_left is None:
        return f"{what}: {share:.0%} done"
    return f"{what}: {share:.0%} done, about {timedelta(seconds=round(seconds_left))} left"
