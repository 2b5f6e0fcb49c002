"""Limits of a run: how many events, how much time, how much memory.

That of events counts those of each replication, and cuts each off at the same event wherever and
whenever it runs. Those of time and memory are looked at ten times a second: where they cut is a
matter of the machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

#: Where Linux tells how many pages of this process are in memory: the second number.
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class Limits:
    """What a run may take; None: as much as it likes."""

    max_events: int | None = None
    """Events of one replication."""
    max_seconds: float | None = None
    """Wall-clock time of the whole run, s."""
    max_bytes: int | None = None
    """Resident memory of the process, bytes."""


NO_LIMITS = Limits()


@dataclass
class LimitMonitor:
    """Looks at the limits that only this machine can tell."""

    limits: Limits
    started: float = field(default_factory=time.monotonic)

    def reached(self) -> str | None:
        """The limit that is reached now, in words."""
        most = self.limits.max_seconds
        if most is not None and time.monotonic() - self.started >= most:
            return f"the limit of {most:g} s of time"
        most_bytes = self.limits.max_bytes
        if most_bytes is not None and resident_bytes() >= most_bytes:
            return f"the limit of {most_bytes / 1e6:g} MB of memory"
        return None


def resident_bytes() -> int:
    """How much memory this process has, bytes."""
    pages = int(_STATM.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
