"""The first part of a replication, which is run to learn what the rest will cost.

It is looked at when it has done twice as many events as at the last look. It is cut off when it has
cost half a second of CPU time, or a twentieth of what the whole is predicted to cost; or four times
as much, while flows go on starting or the second half of this part is unlike its second quarter.
What comes later is extrapolated from the last half, so that the start counts once.
Packets that a queue has taken in and not let out by then do not go on coming: a link carries no
more than it can. A link that was busy and whose rate changes later carries packets in proportion to
its rate.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import marqueue._core as _core
from marqueue.simulation.checkpoints import Replication
from marqueue.simulation.limits import resident_bytes
from marqueue.simulation.timed_runs import interruptible

#: Events of the first measurement, or one a flow, or what takes about as long as the set-up of the
#: run, whichever is most; each further one has FACTOR times as many.
FIRST, FACTOR = 20_000, 2
#: Events a second of a slow run, in a large network.
SLOW = 2e6
#: The part that is measured costs this share of the whole, and at least and at most this CPU time;
#: it is not less than twice what comes before the first event, which is not known better than that.
SHARE, LEAST, MOST = 0.05, 0.5, 20.0
#: The part grows up to so many times this cost, while flows go on starting, or events a second or
#: the CPU time of an event still change by more than CHANGE from its second quarter to its second
#: half.
PATIENCE, CHANGE = 4.0, 0.1
#: A link that is used more than this is taken to carry packets in proportion to its rate.
BUSY = 0.5
#: Simulated seconds.
TINY = 1e-3
NS = 1e9

if TYPE_CHECKING:
    from marqueue._core import SoFar


@dataclass(frozen=True)
class Part:
    """What a replication has done so far, and what that has cost."""

    so_far: SoFar
    cpu: float
    """CPU time (s)."""
    resident: int
    """Memory of the process (bytes)."""

    @property
    def events(self) -> int:
        """Processed so far."""
        return self.so_far["events"]

    @property
    def seconds(self) -> float:
        """Simulated."""
        return self.so_far["seconds"]


@dataclass(frozen=True)
class Rest:
    """What is predicted to come after a part."""

    seconds: float
    """Simulated."""
    events: float
    packets: float
    cpu: float

    def up_to(self, events: float) -> Rest:
        """The first so many events of it."""
        if self.events <= events:
            return self
        share = events / self.events
        return Rest(self.seconds * share, events, self.packets * share, self.cpu * share)


class MeasuredPart:
    """The part of a replication that tells enough of the rest."""

    start: Part
    """What comes before the first event."""
    before: Part
    """What was done at the last look but one."""
    part: Part
    rest: Rest
    raw: dict[str, Any]
    """The output of the engine, cut off where the part ends."""
    end: float
    """CPU time from the end of the part to this output (s)."""

    def __init__(self, replication: Replication, plan: Any) -> None:
        self._replication, self._plan = replication, plan
        self._looking = 0.0
        self._has_looked = False
        control = _core.Control(replication.max_events, look=self._look)
        interruptible([control], self._run)

    def _run(self, control: _core.Control) -> None:
        self._began = time.thread_time()
        self.raw = _core.run(self._replication.plan, self._replication.seed, control, {})
        self.end = self._cpu() - self.part.cpu

    def _cpu(self) -> float:
        """CPU time of the run so far, without that of looking at it (s)."""
        return time.thread_time() - self._began - self._looking

    def _look(self, so_far: SoFar) -> int | None:
        cpu = self._cpu()
        more = self._events_to_go(Part(so_far, cpu, resident_bytes()))
        self._looking += self._cpu() - cpu
        return more

    def _events_to_go(self, part: Part) -> int | None:
        """The number of events at which to look again; None if the part tells enough."""
        most = self._replication.max_events or sys.maxsize
        if not self._has_looked:
            self._has_looked = True
            self.start = self._earlier = self.before = part
            return min(most, max(FIRST, part.so_far["flows"], round(part.cpu * SLOW)))
        start, before, plan = self.start, self.before, self._plan
        duration = self._replication.seconds
        self.part = part
        self.rest = _rest(before, part, plan, duration).up_to(most - part.events)
        enough = max(LEAST, 2.0 * start.cpu, SHARE * (part.cpu + self.rest.cpu))
        starting = groups_starting(plan, part.seconds, part.seconds + self.rest.seconds)
        growing = _has_connections(plan) and self._grows()
        if not _is_steady(self._earlier, before, part) or starting or growing:
            enough *= PATIENCE
        if part.cpu - start.cpu >= min(enough, MOST) or part.events >= most:
            return None
        self._earlier, self.before = before, part
        return min(most, FACTOR * part.events)

    def _grows(self) -> bool:
        """Whether memory still grows at the end of the part."""
        then, now = (each.resident - self.start.resident for each in (self.before, self.part))
        return now > (1.0 + CHANGE) * max(0, then)


def _rest(before: Part, part: Part, plan: Any, duration: float) -> Rest:
    """What comes after a part, from what came between the part before and its end."""
    span, left = part.seconds - before.seconds, duration - part.seconds
    if left <= 0 or span <= 0:
        return Rest(max(0.0, left), 0.0, 0.0, 0.0)
    now, then = part.so_far, before.so_far
    later = now["left"] - then["left"]
    busy = now["used"] - then["used"] > BUSY * (now["capacity"] - then["capacity"])
    for k in np.flatnonzero(busy):
        later[k] *= _change_of_rate(plan["links"][now["links"][k]], part.seconds, duration)
    arrivals = float(np.sum(now["arrivals"] - then["arrivals"]))
    times = left / span * (float(later.sum()) / arrivals if arrivals else 1.0)
    events = times * (part.events - before.events)
    an_event = (part.cpu - before.cpu) / max(1, part.events - before.events)
    return Rest(left, events, times * arrivals, events * an_event)


def _is_steady(earlier: Part, before: Part, part: Part) -> bool:
    """Whether events come as often, and take as long, from ``before`` to ``part`` as they did from
    ``earlier`` to ``before``."""

    def rates(since: Part, until: Part) -> tuple[float, float]:
        events = max(1, until.events - since.events)
        return (until.seconds - since.seconds) / events, (until.cpu - since.cpu) / events

    pairs = zip(rates(earlier, before), rates(before, part), strict=True)
    return all(abs(now - then) <= CHANGE * then for then, now in pairs)


def _change_of_rate(link: Any, since: float, duration: float) -> float:
    """The mean rate of a link after a time, over its rate at that time."""
    steps = [(t / NS, rate) for t, rate in link.get("schedule") or ()]
    now = [link["rate"], *(rate for t, rate in steps if t <= since)][-1]
    later = [(since, now), *((t, rate) for t, rate in steps if since < t < duration)]
    ends = [*(t for t, _ in later[1:]), duration]
    carried = sum(rate * (end - t) for (t, rate), end in zip(later, ends, strict=True))
    return float(carried / (now * (duration - since))) if now else 1.0


def groups_starting(plan: Any, since: float, duration: float) -> dict[int, float]:
    """The entries of the plan's traffic of which some flows have started by a time and others have
    not, with the time when all have, s."""
    starting: dict[int, float] = {}
    for i, group in enumerate(plan["traffic"]):
        [kind] = group["kind"].values()
        began = (kind.get("start") or 0) / NS
        last = min(began + (kind.get("jitter") or 0) / NS, duration)
        if began <= since < last:
            starting[i] = last
    return starting


def bytes_of_connections(plan: Any, measurement: MeasuredPart) -> float:
    """The memory of QUIC connections in one replication, bytes. No formula knows what a library
    keeps of packets that it has sent, so what the measured part took is extrapolated."""
    if not _has_connections(plan):
        return 0.0
    start, before, part = measurement.start, measurement.before, measurement.part
    grew = max(0, part.resident - before.resident) / max(part.seconds - before.seconds, TINY)
    return max(0, part.resident - start.resident) + grew * measurement.rest.seconds


def _has_connections(plan: Any) -> bool:
    return any("quic" in group["kind"] for group in plan["traffic"])
