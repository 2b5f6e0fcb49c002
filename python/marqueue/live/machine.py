"""What the machine does to a live link: how late its timers are, measured before a run, and who had
the processor while the link's thread needed it.

A link's thread sleeps until shortly before a packet is due and polls for the rest
(crates/live/src/polling.rs). So a timer may be late by what it would have polled, and the packet
still leaves in time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marqueue._core as _core
from marqueue.live.audit import MAX_RELEASE_ERROR

POLLS = (20e-6, 200e-6)
"""The shortest and the longest time for which a link polls before a packet is due, s."""
LEAST_POLL = 40e-6
"""The time for which it polls before packets that come fast, s (DEFAULT_LONGEST_POLL there)."""
AWAKE = 7 / 8
"""The part of the time in which a link's thread may be awake (AWAKE_PER_REST there)."""
LINK_PRIORITY = 50
"""The real-time priority of a link's thread (LINK_PRIORITY in crates/live/src/clock.rs)."""
SLEEP = 1e-3
"""The time that each timer is set to, s."""
PACKET = 1500
"""Bytes of the packet for which a rate is told."""
GROUPS = Path("/proc/self/cgroup")
"""The control groups of this process."""
CPU_STATS = ("/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct")
"""Where the controller of the processor is mounted: version 2, or one of version 1's names."""


@dataclass(frozen=True)
class Timers:
    """How late timers of a millisecond were in a thread like a link's, s."""

    p50: float
    p90: float
    p99: float
    max: float
    realtime: bool
    waited: float | None
    """How long the thread was ready and waited for a processor, s."""

    @classmethod
    def measure(cls, seconds: float) -> Timers:
        """Measures for so long, in a thread with the processor and the priority of a link's. Some
        microseconds are Python's own."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(_measure, seconds).result()

    @property
    def longest_poll(self) -> float:
        """How long before a packet is due a link polls here, s: as late as timers were. Where that
        is more than half a packet time it polls for half of it, but for :data:`LEAST_POLL`."""
        shortest, longest = POLLS
        return min(max(self.p99, shortest), longest)

    @property
    def shortest_packet(self) -> float:
        """The shortest transmission time that a valid result can have if timers stay as late as
        they were, s. Polling takes at most half of it off the lateness, and the 99th percentile of
        what is left may be half of it. A thread that polls before each packet must not be awake for
        more than :data:`AWAKE` of the time; else it rests, and packets are late."""
        late = (self.p99 - self.longest_poll) / MAX_RELEASE_ERROR
        return max(self.p99, late, LEAST_POLL / AWAKE)

    @property
    def highest_rate(self) -> float:
        """The rate at which a packet of :data:`PACKET` bytes takes the shortest time, bit/s."""
        return 8 * PACKET / max(self.shortest_packet, 1e-9)

    def in_words(self) -> str:
        """A sentence."""
        priority = "" if self.realtime else ", without real-time priority"
        return (
            f"timers here are {self.p50 * 1e6:.0f} us late at the median and "
            f"{self.p99 * 1e6:.0f} us at the 99th percentile{priority}: packets are in time up to "
            f"about {_two_digits(self.highest_rate / 1e6)} Mbit/s, if it stays so."
        )

    def doubt(self, packet_time: float | None) -> str | None:
        """Why a result will probably not be valid, a sentence; None if it may be."""
        if packet_time is None or packet_time >= self.shortest_packet:
            return None
        return (
            f"{self.in_words()} A packet of this network takes {packet_time * 1e6:.1f} us, shorter "
            f"than the {self.shortest_packet * 1e6:.1f} us of that rate."
        )


def _measure(seconds: float) -> Timers:
    realtime = _prepare_thread()
    late = []
    waited = waited_seconds("thread-self")
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        time.sleep(SLEEP)
        late.append(time.monotonic() - now - SLEEP)
    if waited is not None:
        waited = (waited_seconds("thread-self") or 0.0) - waited
    late.sort()
    p50, p90, p99 = (late[int(q * (len(late) - 1))] for q in (0.5, 0.9, 0.99))
    return Timers(p50, p90, p99, late[-1], realtime, waited)


def _prepare_thread() -> bool:
    """Does for this thread what a link does for its own (crates/live/src/clock.rs). Returns whether
    it has real-time priority."""
    allowed = os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setaffinity(0, {max(allowed)})
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(LINK_PRIORITY))
    except OSError:
        return False
    return True


def waited_seconds(thread: str) -> float | None:
    """How long a thread has been ready and waited for a processor, s; None if Linux does not say.
    ``thread`` is its folder in /proc."""
    try:
        told = Path(f"/proc/{thread}/schedstat").read_text(encoding="ascii")
        return int(told.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


@contextmanager
def watched(link: _core.LiveLink, audit: dict[str, Any]) -> Iterator[float]:
    """Context manager: starts a link, yields the zero of its clock, and adds to an audit at the end
    of the block who had the processor: how long the link's thread was ready and ``waited`` for one
    (s; None if Linux does not say), how long the hypervisor had the processors (``stolen``, s,
    summed over them), and how long the quota of this process's control group stopped it
    (``throttled``, s; None if it has none that can be read). The link is not stopped."""
    others = set(os.listdir("/proc/self/task"))
    stolen, throttled = stolen_seconds(), throttled_seconds()
    epoch = link.start()
    threads = set(os.listdir("/proc/self/task")) - others
    try:
        yield epoch
    finally:
        # Another thread of this process may have begun just then: all of the new ones count.
        waits = [waited_seconds(f"self/task/{thread}") for thread in threads]
        told = [seconds for seconds in waits if seconds is not None]
        audit["waited"] = sum(told) if told else None
        audit["stolen"] = stolen_seconds() - stolen
        now = throttled_seconds()
        audit["throttled"] = None if now is None or throttled is None else now - throttled


def stolen_seconds() -> float:
    """CPU time that the hypervisor gave to other guests (steal time), summed over all CPUs, s."""
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return int(first[8]) / os.sysconf("SC_CLK_TCK") if len(first) > 8 else 0.0


def throttled_seconds() -> float | None:
    """How long the quota of this process's control group has stopped its processes, s."""
    groups = GROUPS.read_text(encoding="ascii").splitlines()
    for _, controllers, path in (line.split(":", 2) for line in groups):
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in CPU_STATS:
            file = Path(f"{mount}/{path.strip('/')}/cpu.stat")
            if file.exists():
                told = dict(line.split() for line in file.read_text("ascii").splitlines())
                if "throttled_usec" in told:
                    return int(told["throttled_usec"]) / 1e6
                if "throttled_time" in told:
                    return int(told["throttled_time"]) / 1e9
    return None


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"
