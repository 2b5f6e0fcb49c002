"""What a run will cost: packets, CPU time and memory, predicted from the first part of the run.

One replication runs, and is looked at when it has done twice as many events as at the last look. It
is cut off when it has cost half a second of CPU time, or a twentieth of what the whole is predicted
to cost; or four times as much, while flows go on starting or the second half of this part is unlike
its second quarter. What comes later is extrapolated from the last half, so that the start counts
once.
Packets that a queue has taken in and not let out by then do not go on coming: a link carries no
more than it can. A link that was busy and whose rate changes later carries packets in proportion to
its rate.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.garbage_collector import paused_collector
from marqueue.scenario import Scenario, kernels_in
from marqueue.simulation.checkpoints import Replication
from marqueue.simulation.executor import POLL, threads_of
from marqueue.simulation.experiment import Experiment, replications_of
from marqueue.simulation.limits import NO_LIMITS, Limits, resident_bytes
from marqueue.simulation.memory import added_bytes, free_bytes, refuse_beyond_memory

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
#: A result has the samples of links once more than the engine, and a quarter of them is copied
#: meanwhile: measured with samples every millisecond.
COPIES = 1.25
#: Less CPU time says nothing about threads, s.
TINY = 1e-3
NS = 1e9

if TYPE_CHECKING:
    from marqueue._core import SoFar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The predicted cost of replications, of a run or of all points of a sweep."""

    replications: int
    """With those of pilot runs, if the scenario asks for them; with ``until`` at most so many."""
    events: float
    """Of all replications together, as are packets and CPU time."""
    packets: float
    """Packets that arrive at the links with a queue, counted at each."""
    cpu_seconds: float
    """Of the engine; each thread of a replication is busy until it ends."""
    wall_seconds: float
    """If nothing else runs."""
    jobs: int
    """Replications at a time."""
    threads: int
    """Threads of each."""
    memory: float
    """Bytes of the whole process at its largest."""
    free_memory: float
    """Bytes that the machine has for new work."""
    later: tuple[str, ...]
    """Traffic that starts or stops after the part that was measured, in words: the prediction does
    not know what it changes."""
    until: tuple[str, ...]
    """The bounds that may end the run after fewer replications."""
    limits: tuple[str, ...]
    """The limits that end the run before its end, in words. A limit of events is part of the
    prediction, limits of time and memory are not."""

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class RunCost(Cost):
    """The predicted cost of a run."""

    measured_seconds: float
    """The simulated seconds that were run for the prediction."""
    measured_share: float
    """The same as a share of what a replication simulates; at 1 a whole one was measured."""


@dataclass(frozen=True)
class _Part:
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
class _Rest:
    """What is predicted to come after a part."""

    seconds: float
    """Simulated."""
    events: float
    packets: float
    cpu: float

    def up_to(self, events: float) -> _Rest:
        """The first so many events of it."""
        if self.events <= events:
            return self
        share = events / self.events
        return _Rest(self.seconds * share, events, self.packets * share, self.cpu * share)


def predict(
    scenario: Scenario,
    *,
    replications: int | None = None,
    until: Sequence[str] = (),
    jobs: int | None = None,
    threads: int | None = None,
    limits: Limits = NO_LIMITS,
) -> RunCost:
    """Predicts the cost of a run of a scenario.

    The arguments are those of :func:`marqueue.run`. Takes about as long as a twentieth of a
    replication, at least half a second and mostly at most 40 seconds.
    Raises RunError if the scenario names kernels, whose time is not that of this process, or if one
    replication does not fit into the memory, so that its first part would not either; and
    ScenarioError.
    """
    experiment = Experiment.of(scenario, None, replications, until)
    return predict_experiment(experiment, jobs=jobs, threads=threads, limits=limits)


def predict_experiment(
    experiment: Experiment, *, jobs: int | None, threads: int | None, limits: Limits
) -> RunCost:
    """The same as :func:`predict`, of a scenario with its stopping rule."""
    if kernels := kernels_in(experiment.scenario):
        raise RunError(f"--estimate: expected models as end hosts and queues, got {kernels[0]}")
    replication = replications_of(experiment.scenario, limits)[0]
    with paused_collector():
        plan = json.loads(replication.plan)
    duration = replication.seconds
    number = round(experiment.seconds / duration)
    processors = len(os.sched_getaffinity(0))
    at_a_time = min(jobs or processors, number)
    # As for a run.
    each = 1 if limits != NO_LIMITS else threads_of(replication.plan, number, jobs, threads)
    memory, free = float(resident_bytes()), free_bytes()
    # Samples are the only thing that grows with the time that is run.
    refuse_beyond_memory(json.dumps(plan | {"sample": 0}), 1, 1, each)
    measurement = _Measurement(replication, plan)
    start, part, rest = measurement.start, measurement.part, measurement.rest
    cpu = wall = part.cpu + rest.cpu + measurement.end
    # What the first replication takes from the system, those after it find.
    from_system = max(0.0, start.cpu - _set_up(replication)) if number > 1 else 0.0
    if each > 1:
        one = max(part.cpu + measurement.end - start.cpu, TINY)
        wall = start.cpu + (cpu - start.cpu) * _on_threads(replication, plan, part, each) / one
        cpu = wall * each
        wall *= max(1.0, at_a_time * each / processors)
    added = added_bytes(replication.plan, at_a_time, experiment.scenario.replications, each)
    ends = part.seconds + rest.seconds
    memory += added + at_a_time * _of_connections(plan, measurement)
    memory += COPIES * number * part.so_far["samples"] * ends / part.seconds
    wall = from_system + -(-number // at_a_time) * (wall - from_system)
    return RunCost(
        replications=number,
        events=number * (part.events + rest.events),
        packets=number * (float(part.so_far["arrivals"].sum()) + rest.packets),
        cpu_seconds=from_system + number * (cpu - from_system),
        wall_seconds=wall,
        jobs=at_a_time,
        threads=each,
        memory=memory,
        free_memory=free,
        later=tuple(_changes(plan, part.seconds, ends)),
        until=tuple(bound.text for bound in experiment.bounds),
        limits=(*_cut(limits, ends, duration), *reached(limits, wall, memory)),
        measured_seconds=part.seconds,
        measured_share=part.seconds / ends,
    )


def _of_connections(plan: Any, measurement: _Measurement) -> float:
    """The memory of QUIC connections in one replication, bytes. No formula knows what a library
    keeps of packets that it has sent, so what the measured part took is extrapolated."""
    if not _has_connections(plan):
        return 0.0
    start, before, part = measurement.start, measurement.before, measurement.part
    grew = max(0, part.resident - before.resident) / max(part.seconds - before.seconds, TINY)
    return max(0, part.resident - start.resident) + grew * measurement.rest.seconds


def _has_connections(plan: Any) -> bool:
    return any("quic" in group["kind"] for group in plan["traffic"])


def _cut(limits: Limits, ends: float, duration: float) -> Iterator[str]:
    """The limit that ends a replication, in words."""
    if limits.max_events is not None and ends < duration:
        yield f"the limit of {limits.max_events:,} events a replication, after {ends:.3g} s of it"


def reached(limits: Limits, wall: float, memory: float) -> Iterator[str]:
    """The limits of time and memory that are reached, in words."""
    if limits.max_seconds is not None and wall > limits.max_seconds:
        yield f"the limit of {limits.max_seconds:g} s of time"
    if limits.max_bytes is not None and memory > limits.max_bytes:
        yield f"the limit of {limits.max_bytes / 1e6:g} MB of memory"


class _Measurement:
    """The part of a replication that tells enough of the rest."""

    start: _Part
    """What comes before the first event."""
    before: _Part
    """What was done at the last look but one."""
    part: _Part
    rest: _Rest
    end: float
    """CPU time from there to the result (s)."""

    def __init__(self, replication: Replication, plan: Any) -> None:
        self._replication, self._plan = replication, plan
        self._looking = 0.0
        self._has_looked = False
        control = _core.Control(replication.max_events, look=self._look)
        _interruptible(control, lambda: self._run(control))

    def _run(self, control: _core.Control) -> None:
        self._began = time.thread_time()
        _core.run(self._replication.plan, self._replication.seed, control, {})
        self.end = self._cpu() - self.part.cpu

    def _cpu(self) -> float:
        """CPU time of the run so far, without that of looking at it (s)."""
        return time.thread_time() - self._began - self._looking

    def _look(self, so_far: SoFar) -> int | None:
        cpu = self._cpu()
        more = self._events_to_go(_Part(so_far, cpu, resident_bytes()))
        self._looking += self._cpu() - cpu
        return more

    def _events_to_go(self, part: _Part) -> int | None:
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
        starting = _starting(plan, part.seconds, part.seconds + self.rest.seconds)
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


def _interruptible(control: _core.Control, work: Callable[[], T]) -> T:
    """What a function that runs under this control returns. It has a thread of its own, so that
    Ctrl-C ends it at once."""
    with ThreadPoolExecutor(1, "measurement") as pool:
        future = pool.submit(work)
        try:
            while not future.done():
                wait([future], timeout=POLL)
        except BaseException:
            control.cancel()
            raise
    return future.result()


def _set_up(replication: Replication) -> float:
    """CPU time before the first event, for a process that has the memory already (s)."""
    ended = 0.0

    def look(_: SoFar) -> None:
        nonlocal ended
        ended = time.thread_time()

    control = _core.Control(look=look)

    def run() -> float:
        began = time.thread_time()
        _core.run(replication.plan, replication.seed, control, {})
        return ended - began

    return _interruptible(control, run)


def _on_threads(replication: Replication, plan: Any, part: _Part, threads: int) -> float:
    """The wall time of a part on several threads without what comes before its first event (s)."""
    ends = round(part.seconds * NS)
    shorter = plan | {"duration": ends}
    shorter["boundaries"] = [each for each in plan["boundaries"] if each < ends]
    shorter["traffic"] = [_writing_within(group, ends) for group in plan["traffic"]]
    text = json.dumps(shorter)

    def took(control: _core.Control, threads: int) -> float:
        began = time.perf_counter()
        _core.run(text, replication.seed, control, {}, threads)
        return time.perf_counter() - began

    start, whole = _core.Control(1), _core.Control()
    set_up = _interruptible(start, lambda: took(start, 1))
    return max(0.0, _interruptible(whole, lambda: took(whole, threads)) - set_up)


def _writing_within(group: Any, ends: int) -> Any:
    """A traffic group whose application writes once in this time at least, as a run asks for."""
    [(name, kind)] = group["kind"].items()
    write = dict(kind.get("write") or ())
    if not write:
        return group
    write["every"] = min(write["every"], ends)
    if write.get("first"):
        write["first"] = write["first"] | {"lasts": min(write["first"]["lasts"], ends)}
    return group | {"kind": {name: kind | {"write": write}}}


def _rest(before: _Part, part: _Part, plan: Any, duration: float) -> _Rest:
    """What comes after a part, from what came between the part before and its end."""
    span, left = part.seconds - before.seconds, duration - part.seconds
    if left <= 0 or span <= 0:
        return _Rest(max(0.0, left), 0.0, 0.0, 0.0)
    now, then = part.so_far, before.so_far
    later = now["left"] - then["left"]
    busy = now["used"] - then["used"] > BUSY * (now["capacity"] - then["capacity"])
    for k in np.flatnonzero(busy):
        later[k] *= _change_of_rate(plan["links"][now["links"][k]], part.seconds, duration)
    arrivals = float(np.sum(now["arrivals"] - then["arrivals"]))
    times = left / span * (float(later.sum()) / arrivals if arrivals else 1.0)
    events = times * (part.events - before.events)
    an_event = (part.cpu - before.cpu) / max(1, part.events - before.events)
    return _Rest(left, events, times * arrivals, events * an_event)


def _is_steady(earlier: _Part, before: _Part, part: _Part) -> bool:
    """Whether events come as often, and take as long, from ``before`` to ``part`` as they did from
    ``earlier`` to ``before``."""

    def rates(since: _Part, until: _Part) -> tuple[float, float]:
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


def _starting(plan: Any, since: float, duration: float) -> dict[str, float]:
    """The groups of which some flows have started by a time and others have not, with the time when
    all have, s."""
    starting: dict[str, float] = {}
    for group in plan["traffic"]:
        [kind] = group["kind"].values()
        began = (kind.get("start") or 0) / NS
        last = min(began + (kind.get("jitter") or 0) / NS, duration)
        if began <= since < last:
            starting[group["name"]] = last
    return starting


def _changes(plan: Any, since: float, duration: float) -> Iterator[str]:
    """Traffic that starts or stops after a time, in words."""
    for group in plan["traffic"]:
        [kind] = group["kind"].values()
        for key, what in (("start", "starts"), ("stop", "stops")):
            at = (kind.get(key) or 0) / NS
            if since < at < duration:
                yield f"{group['name']} {what} at {at:g} s"
    if starting := _starting(plan, since, duration):
        names = f"{len(starting)} groups" if len(starting) > 1 else next(iter(starting))
        yield f"flows of {names} go on starting until {max(starting.values()):g} s"
