"""Limits of a run: events, time and memory.

The limit of events applies to each replication and is reproducible: it always cuts at the same
event. The limits of time and memory are checked ten times a second, so their effect depends on the
machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

#: The first numbers in this file: pages of this process, and resident ones.
STATM = Path("/proc/self/statm")
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Limits:
    """The limits of a run; None: unlimited."""

    max_events: int | None = None
    """Events of one replication."""
    max_seconds: float | None = None
    """Wall-clock time of the whole run, s."""
    max_bytes: int | None = None
    """Resident memory of the process, bytes."""


NO_LIMITS = Limits()


@dataclass
class LimitMonitor:
    """Checks the limits of time and memory."""

    limits: Limits
    started: float = field(default_factory=time.monotonic)

    def reached(self) -> str | None:
        """The limit that has been reached, in words; None if none has."""
        most = self.limits.max_seconds
        if most is not None and time.monotonic() - self.started >= most:
            return f"the limit of {most:g} s of time"
        most_bytes = self.limits.max_bytes
        if most_bytes is not None and resident_bytes() >= most_bytes:
            return f"the limit of {most_bytes / 1e6:g} MB of memory"
        return None


def resident_bytes() -> int:
    """The resident memory of this process, bytes."""
    pages = int(STATM.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """The largest resident memory of this process so far, bytes; that of now where the system does
    not tell it."""
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    peaks = [1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks, default=resident_bytes())
