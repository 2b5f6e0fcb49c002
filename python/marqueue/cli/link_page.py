"""The page of ``marqueue link --watch``: curves of the last minute of each direction, and the last
lines of the command's output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import IO

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from marqueue.cli.console import errors
from marqueue.cli.link_status import LastSamples, in_words
from marqueue.live.recording import EVERY, LinkSamples

SPAN = 60.0
"""The time span of the curves, s."""
CURVES = {
    "rate": ("Rate", "Mbit/s", 1e-6),
    "queue": ("Queue", "packets", 1.0),
    "delay_p99": ("Delay, p99", "ms", 1e3),
}
"""The curves: label, unit, and the factor from base units."""
EIGHTHS = " ▁▂▃▄▅▆▇█"
MARGIN = 12
"""Columns to the left of a curve."""
LINES = 6
"""Lines of the command's output."""
TAIL = 4096
"""Bytes at the end of the output that are searched for these lines."""


class Page:
    """The page; it is called with new samples of the link."""

    def __init__(self, names: Mapping[int, str], written: IO[bytes] | None, live: Live) -> None:
        self.recent = LastSamples(names, SPAN)
        self.written = written
        self.live = live

    def __call__(self, looks: LinkSamples) -> None:
        """Adds new samples and draws the page."""
        self.recent.add(looks)
        # The link continues without its terminal.
        with suppress(OSError):
            self.live.update(self._shown(), refresh=True)

    def _shown(self) -> Group:
        width, height = errors.size
        below = LINES + 2 if self.written else 0
        rows = (height - below) // len(self.recent.names) - 2 - len(CURVES)
        rows = max(rows // len(CURVES), 1)
        panels = [
            Panel(
                Group(*self._curves(link, width - 4, rows)),
                title=Text(in_words(self.recent, link)),
                title_align="left",
            )
            for link in self.recent.names
        ]
        return Group(*panels, *([Panel(self._last_lines())] if self.written else []))

    def _curves(self, link: int, width: int, rows: int) -> Iterator[Text]:
        columns = max(width - MARGIN, 1)
        for name, (title, unit, scale) in CURVES.items():
            values = [value * scale for value in self.recent.column(link, name)]
            shown = fitted(values, columns, round(SPAN / EVERY))
            top = max((v for v in shown if math.isfinite(v)), default=0.0)
            yield Text(f"{title} [{unit}], {SPAN:.0f} s", style="bold")
            for n, line in enumerate(curve(shown, top, rows)):
                label = f"{top:.4g}" if n == 0 else "0" if n == rows - 1 else ""
                yield Text(f"{label:>{MARGIN - 2}} ▏{line}")

    def _last_lines(self) -> Text:
        assert self.written
        end = self.written.seek(0, 2)
        self.written.seek(max(end - TAIL, 0))
        text = self.written.read().decode(errors="replace").replace("\r", "\n")
        lines = [line for line in text.split("\n") if line.strip()]
        # Control characters would move the cursor on this page.
        printable = ["".join(c for c in line if c.isprintable()) for line in lines[-LINES:]]
        return Text("\n".join(printable), no_wrap=True, overflow="ellipsis")


def fitted(values: Sequence[float], columns: int, most: int) -> list[float]:
    """The last ``most`` values in so many columns, the newest on the right: the maximum of each
    column, NaN without values."""
    padded = [math.nan] * (most - len(values)) + list(values)
    edges = [round(c * most / columns) for c in range(columns + 1)]
    parts = (padded[a : max(b, a + 1)] for a, b in pairwise(edges))
    return [max((v for v in part if math.isfinite(v)), default=math.nan) for part in parts]


def curve(values: Sequence[float], top: float, rows: int) -> list[str]:
    """Rows of a bar chart, from the top; a value of ``top`` fills its column, NaN leaves it
    empty."""
    steps = len(EIGHTHS) - 1
    heights = [round(v / top * rows * steps) if top > 0 and math.isfinite(v) else 0 for v in values]
    return [
        "".join(EIGHTHS[min(max(h - row * steps, 0), steps)] for h in heights)
        for row in reversed(range(rows))
    ]


@contextmanager
def page(names: Mapping[int, str], written: IO[bytes] | None) -> Iterator[Page]:
    """Shows the page on the terminal's alternate screen until the end of the block."""
    live = Live(console=errors, screen=True, auto_refresh=False)
    live.start()
    try:
        yield Page(names, written, live)
    finally:
        with suppress(OSError):
            live.stop()
