"""The page of ``marqueue stats --watch``: curves of the last minute of the AQM at a device."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from marqueue.cli.console import errors
from marqueue.cli.link_page import MARGIN, curve, fitted
from marqueue.errors import MarqueueError
from marqueue.live import kernel

SPAN = 60.0
"""The time span of the curves, s."""
EVERY = 0.5
"""Seconds between two samples."""
RATES = {
    "bytes": ("Arrivals", "Mbit/s", 8e-6),
    "marked": ("Marked", "packets/s", 1.0),
    "dropped": ("Dropped", "packets/s", 1.0),
}
"""Counters whose growth is shown: label, unit, and the factor from a second's growth."""
SCALES = {
    "virtual_capacity": ("Mbit/s", 1e-6),
    "virtual_queue": ("kB", 1e-3),
    "queue": ("kB", 1e-3),
    "avg": ("kB", 1e-3),
}
"""Units of the AQMs' variables; all others have none."""
HIDDEN = ("intervals",)
"""Variables that only grow."""


class History:
    """The curves of the last minute: rates from counters, and the AQM's variables."""

    def __init__(self) -> None:
        self.curves: dict[str, deque[float]] = {}
        self.last: tuple[float, kernel.Stats] | None = None

    def add(self, now: float, stats: kernel.Stats) -> None:
        """Adds a sample at a time in s. Another AQM begins anew."""
        if self.last and self.last[1].aqm != stats.aqm:
            self.curves, self.last = {}, None
        if self.last and now > self.last[0]:
            before, old = self.last
            for name, (label, unit, scale) in RATES.items():
                grown = getattr(stats, name) - getattr(old, name)
                self._add(f"{label} [{unit}]", grown * scale / (now - before))
            for name, value in stats.state.items():
                if name not in HIDDEN:
                    unit, scale = SCALES.get(name, ("", 1.0))
                    label = name.replace("_", " ").capitalize() if len(name) > 1 else name
                    self._add(f"{label} [{unit}]" if unit else label, value * scale)
        self.last = now, stats

    def _add(self, label: str, value: float) -> None:
        # What begins later has no values for the time before.
        fresh: deque[float] = deque(maxlen=round(SPAN / EVERY))
        self.curves.setdefault(label, fresh).append(value)


def shown(history: History, device: str, width: int, height: int) -> Panel:
    """The page in so many columns and rows."""
    assert history.last
    stats = history.last[1]
    rows = max((height - 3) // max(len(history.curves), 1) - 1, 1)
    total = f"{stats.packets} packets, {stats.marked} marked, {stats.dropped} dropped"
    return Panel(
        Group(*_curves(history, width - 4, rows)),
        title=Text(f"{stats.aqm} at {device}: {total}"),
        title_align="left",
        subtitle=Text(f"the last {SPAN:.0f} s; Ctrl-C ends"),
        subtitle_align="left",
    )


def _curves(history: History, width: int, rows: int) -> Iterator[Text]:
    columns = max(width - MARGIN, 1)
    for label, values in history.curves.items():
        # A price may be negative: the curve is of what is above 0.
        fits = fitted(list(values), columns, round(SPAN / EVERY))
        top = max((value for value in fits if math.isfinite(value)), default=0.0)
        yield Text(f"{label}: {values[-1]:.4g}", style="bold", no_wrap=True, overflow="ellipsis")
        for n, line in enumerate(curve(fits, top, rows)):
            edge = f"{top:.4g}" if n == 0 else "0" if n == rows - 1 else ""
            yield Text(f"{edge:>{MARGIN - 2}} ▏{line}", no_wrap=True)


def watch(device: str, netns: str | None, hook: str = "egress") -> None:
    """Shows the page on the terminal's alternate screen until it is interrupted.

    Raises MarqueueError when the AQM is no longer attached.
    """
    history = History()
    with Live(console=errors, screen=True, auto_refresh=False) as live:
        while True:
            stats = kernel.stats(device, netns, hook)
            if stats is None:
                raise MarqueueError(f"{device}: the AQM is no longer attached")
            history.add(time.monotonic(), stats)
            live.update(shown(history, device, *errors.size), refresh=True)
            time.sleep(EVERY)
