"""The state line of a link, on a terminal that its command writes to.

The line is in the last row of the terminal, which is excluded from the scrolling region: the output
of the command continues above it. The row is released when the command takes control of the
terminal, as editors, pagers and shells with job control do.
"""

from __future__ import annotations

import math
import os
import signal
import termios
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from threading import RLock
from typing import Any

from marqueue.live.recording import EVERY, LinkSamples

PATIENCE = 1.0
"""Seconds before the line appears, so that short commands do not show it."""
REDRAW = 0.5
"""Seconds between two updates."""
SPAN = 1.0
"""The time span of the figures, s."""
LEAST_ROWS = 5

SAVE, RESTORE = "\0337", "\0338"
ROW_BELOW = "\033D\033[1A"
"""Scrolls up if the cursor is in the last row, and keeps its column."""


class LastSamples:
    """The last samples of each link, and the total drops and marks."""

    def __init__(self, names: Mapping[int, str], seconds: float) -> None:
        self.names = names
        self.last = {link: deque[dict[str, Any]](maxlen=round(seconds / EVERY)) for link in names}
        self.totals = {link: {"drops": 0, "marks": 0} for link in names}

    def add(self, looks: LinkSamples) -> None:
        """Adds new samples."""
        for look in looks:
            self.last[look["link"]].append(look)
            for name, before in self.totals[look["link"]].items():
                self.totals[look["link"]][name] = before + int(look["series"][name][0])

    def column(self, link: int, name: str) -> list[float]:
        """A series by its name; NaN without a value."""
        series = name in ("queue", "queue_bytes", "utilization")
        return [
            float(look["series"][name][0] if series else look[name]) for look in self.last[link]
        ]

    def rate(self, link: int) -> float:
        """The departure rate over the last :data:`SPAN` seconds, bit/s."""
        rates = self.column(link, "rate")[-round(SPAN / EVERY) :]
        return sum(rates) / len(rates) if rates else 0.0


def in_words(recent: LastSamples, link: int) -> str:
    """The state of a link: rate, queue, delay (median and p99), total drops and marks."""
    last = round(SPAN / EVERY)
    rate = recent.rate(link)
    queue = recent.column(link, "queue")[-1:] or [0.0]
    delays = [_finite(recent.column(link, f"delay_{p}")[-last:]) for p in ("p50", "p99")]
    middle, most = (sorted(each) for each in delays)
    delay = f"{middle[len(middle) // 2] * 1e3:.1f}/{most[-1] * 1e3:.1f}" if most else "–/–"
    drops, marks = recent.totals[link].values()
    return (
        f"{recent.names[link]} {rate / 1e6:.2f} Mbit/s, queue {queue[0]:.0f}, "
        f"delay {delay} ms, dropped {drops}, marked {marks}"
    )


def _finite(values: list[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


class StatusLine:
    """Draws the line on a terminal; it is called with new samples of the link."""

    def __init__(self, terminal: int, names: Mapping[int, str]) -> None:
        self.terminal = terminal
        self.recent = LastSamples(names, SPAN)
        self.next = time.monotonic() + PATIENCE
        self.rows = 0
        """The rows of the terminal while the last one shows the line, otherwise 0."""
        self.lock = RLock()

    def __call__(self, looks: LinkSamples) -> None:
        """Adds new samples, and draws the line if it is due."""
        self.recent.add(looks)
        with self.lock:
            try:
                if self._is_others():
                    self.close()
                elif time.monotonic() >= self.next:
                    self.next = time.monotonic() + REDRAW
                    self._draw()
            except (OSError, termios.error):
                # The link continues without its terminal.
                self.rows, self.next = 0, math.inf

    def close(self) -> None:
        """Clears the row and releases it."""
        with self.lock, suppress(OSError):
            if self.rows:
                self._write(f"{SAVE}\033[r\033[{self.rows};1H\033[2K{RESTORE}")
            self.rows = 0

    def stop(self, *_: object) -> None:
        """Releases the row while this process is stopped (Ctrl-Z)."""
        with self.lock:
            self.close()
            os.kill(os.getpid(), signal.SIGSTOP)

    def _is_others(self) -> bool:
        """Whether another process controls the terminal, or it is not in line mode."""
        reads_lines = termios.tcgetattr(self.terminal)[3] & termios.ICANON
        return not reads_lines or os.tcgetpgrp(self.terminal) != os.getpgrp()

    def _draw(self) -> None:
        size = os.get_terminal_size(self.terminal)
        if size.lines < LEAST_ROWS:
            return
        take = ""
        if self.rows != size.lines:
            self.close()
            take = f"{ROW_BELOW}{SAVE}\033[1;{size.lines - 1}r{RESTORE}"
            self.rows = size.lines
        line = " | ".join(in_words(self.recent, link) for link in self.recent.names)
        if len(line) > size.columns:
            # Only the busier direction fits.
            line = in_words(self.recent, max(self.recent.names, key=self.recent.rate))
        line = line[: size.columns]
        self._write(f"{take}{SAVE}\033[{self.rows};1H\033[2K\033[7m{line}\033[0m{RESTORE}")

    def _write(self, text: str) -> None:
        # One write, so that output of the command cannot come in between.
        os.write(self.terminal, text.encode())
