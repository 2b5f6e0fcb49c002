"""What a run will cost: packets, CPU time and memory, predicted from the first part of the run.

The first part of one replication runs with a limit of events, which is doubled until the part has
cost half a second of CPU time, or a twentieth of what the whole is predicted to cost; or four times
as much, while flows go on starting or the second half of the part is unlike its second quarter.
What comes later is extrapolated from the last half of that part, so that the start counts once.
Packets that a queue has taken in and not let out by then do not go on coming: a link carries no
more than it can. A link that was busy and whose rate changes later carries packets in proportion to
its rate.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.scenario import Scenario, compile, kernels_of
from marqueue.simulation.checkpoints import Replication
from marqueue.simulation.executor import threads_of
from marqueue.simulation.experiment import Experiment, replications_of
from marqueue.simulation.limits import NO_LIMITS, resident_bytes
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


@dataclass(frozen=True)
class Cost:
    """The predicted cost of a run."""

    replications: int
    """With those of the pilot run, if the scenario asks for one."""
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
    measured_seconds: float
    """The simulated seconds that were run for the prediction."""
    measured_share: float
    """The same as a share of the duration; at 1 a whole replication was measured."""
    later: tuple[str, ...]
    """Traffic that starts or stops after the part that was measured, in words: the prediction does
    not know what it changes."""

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Part:
    """The start of a replication, up to a limit of events."""

    events: int = 0
    seconds: float = 0.0
    """Simulated."""
    cpu: float = 0.0
    arrivals: tuple[float, ...] = ()
    """By link with a queue, as are what left it (sent or dropped), the capacity that there was and
    what was used of it."""
    left: tuple[float, ...] = ()
    used: tuple[float, ...] = ()
    capacity: tuple[float, ...] = ()
    links: tuple[int, ...] = ()
    """Indices into the plan's links."""
    flows: int = 0
    series_bytes: float = 0.0
    """Of samples of links."""


@dataclass(frozen=True)
class _Rest:
    """What is predicted to come after a part."""

    events: float
    packets: float
    cpu: float


def predict(scenario: Scenario, jobs: int | None = None, threads: int | None = None) -> Cost:
    """Predicts the cost of a run of a scenario.

    ``jobs`` and ``threads`` are as for :func:`marqueue.run`. Takes about as long as a
    tenth of a replication, at least half a second and mostly at most a minute; but two minutes for
    a network of 100,000 links, whose plan is read again for each part.
    Raises RunError if the scenario names kernels, whose time is not that of this process, or if one
    replication does not fit into the memory, so that its first part would not either; and
    ScenarioError.
    """
    experiment = Experiment.of(scenario, None, None, ())
    plan = compile(experiment.scenario)
    if kernels_of(plan):
        raise RunError(
            f"--estimate: expected models as end hosts and queues, got {kernels_of(plan)[0]}"
        )
    replication = replications_of(experiment.scenario, NO_LIMITS)[0]
    duration = replication.seconds
    number = round(experiment.seconds / duration)
    processors = len(os.sched_getaffinity(0))
    at_a_time = min(jobs or processors, number)
    each = threads_of(replication.plan, number, jobs, threads)
    memory, free = float(resident_bytes()), free_bytes()
    # Samples are the only thing that grows with the time that is run.
    refuse_beyond_memory(json.dumps(plan | {"sample": 0}), 1, 1, each)
    # The first run takes memory from the system, which those after it find.
    first, start = _run(replication, 1), _run(replication, 1)
    part, rest = _measured(replication, plan, start)
    cpu = wall = part.cpu + rest.cpu
    if each > 1:
        one = max(part.cpu - start.cpu, TINY)
        wall = start.cpu + (cpu - start.cpu) * _on_threads(replication, plan, part, each) / one
        cpu = wall * each
        wall *= max(1.0, at_a_time * each / processors)
    from_system = max(0.0, first.cpu - start.cpu)
    memory += added_bytes(replication.plan, at_a_time, experiment.scenario.replications, each)
    growth = (part.series_bytes - start.series_bytes) * duration / part.seconds
    memory += COPIES * number * growth
    return Cost(
        number,
        number * (part.events + rest.events),
        number * (sum(part.arrivals) + rest.packets),
        from_system + number * cpu,
        from_system + -(-number // at_a_time) * wall,
        at_a_time,
        each,
        memory,
        free,
        part.seconds,
        part.seconds / duration,
        tuple(_changes(plan, part.seconds, duration)),
    )


def _measured(replication: Replication, plan: Any, start: _Part) -> tuple[_Part, _Rest]:
    """The part of a replication that tells enough of the rest, and the rest; ``start`` is what
    comes before the first event."""
    first_events = max(FIRST, start.flows, round(start.cpu * SLOW))
    earlier = _Part()
    for before, part in _parts(replication, first_events):
        rest = _rest(before, part, start.cpu, plan, replication.seconds)
        enough = max(LEAST, 2.0 * start.cpu, SHARE * (part.cpu + rest.cpu))
        starting = _starting(plan, part.seconds, replication.seconds)
        if not _is_steady(earlier, before, part) or starting:
            enough *= PATIENCE
        if part.cpu - start.cpu >= min(enough, MOST):
            break
        earlier = before
    return part, rest


def _parts(replication: Replication, most: int) -> Iterator[tuple[_Part, _Part]]:
    """Longer and longer parts of a replication, each with the one before; the last is the whole."""
    before = _Part()
    while True:
        part = _run(replication, most)
        yield before, part
        if part.seconds >= replication.seconds:
            return
        before, most = part, FACTOR * most


def _run(replication: Replication, most: int) -> _Part:
    started = time.thread_time()
    raw = _core.run(replication.plan, replication.seed, _core.Control(most), {})
    cpu = time.thread_time() - started
    links = raw["links"]

    def total(key: str) -> tuple[float, ...]:
        return tuple(sum(window[key] for window in link["windows"]) for link in links)

    columns: list[Any] = []
    for link in links:
        series = dict(link["series"])
        columns += [*series.pop("probes", {}).values(), *series.values()]
    return _Part(
        raw["events"],
        float(raw["ended"]),
        cpu,
        total("arrivals"),
        tuple(
            sum(w["departures"] + sum(w["drops"].values()) for w in link["windows"])
            for link in links
        ),
        total("used"),
        total("capacity"),
        tuple(link["link"] for link in links),
        len(raw["flows"]["start"]),
        float(sum(getattr(column, "nbytes", 0) for column in columns)),
    )


def _on_threads(replication: Replication, plan: Any, part: _Part, threads: int) -> float:
    """The wall time of a part on several threads without what comes before its first event (s)."""
    ends = round(part.seconds * NS)
    shorter = plan | {"duration": ends}
    shorter["boundaries"] = [each for each in plan["boundaries"] if each < ends]
    shorter["traffic"] = [_writing_within(group, ends) for group in plan["traffic"]]
    text = json.dumps(shorter)
    started = time.perf_counter()
    _core.run(text, replication.seed, _core.Control(1), {})
    begun = time.perf_counter()
    _core.run(text, replication.seed, _core.Control(), {}, threads)
    return max(0.0, time.perf_counter() - begun - (begun - started))


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


def _rest(before: _Part, part: _Part, start: float, plan: Any, duration: float) -> _Rest:
    """What comes after a part, from what came between the part before and its end; ``start`` is
    the CPU time before the first event."""
    span, left = part.seconds - before.seconds, duration - part.seconds
    if left <= 0 or span <= 0:
        return _Rest(0.0, 0.0, 0.0)
    packets_left = _since(before.left, part.left)
    used = _since(before.used, part.used)
    capacity = _since(before.capacity, part.capacity)
    later = 0.0
    for index, packets, spent, there in zip(part.links, packets_left, used, capacity, strict=True):
        busy = there > 0 and spent > BUSY * there
        change = _change_of_rate(plan["links"][index], part.seconds, duration) if busy else 1.0
        later += packets * change
    arrivals = sum(_since(before.arrivals, part.arrivals))
    times = left / span * (later / arrivals if arrivals else 1.0)
    events = times * (part.events - before.events)
    an_event = (part.cpu - start) / part.events
    if part.cpu - before.cpu > LEAST + start:
        an_event = (part.cpu - before.cpu) / (part.events - before.events)
    return _Rest(events, times * arrivals, events * an_event)


def _is_steady(earlier: _Part, before: _Part, part: _Part) -> bool:
    """Whether events come as often, and take as long, from ``before`` to ``part`` as they did from
    ``earlier`` to ``before``."""

    def rates(since: _Part, until: _Part) -> tuple[float, float]:
        events = max(1, until.events - since.events)
        return (until.seconds - since.seconds) / events, (until.cpu - since.cpu) / events

    pairs = zip(rates(earlier, before), rates(before, part), strict=True)
    return all(abs(now - then) <= CHANGE * then for then, now in pairs)


def _since(before: Sequence[float], now: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(before or [0.0] * len(now), now, strict=True)]


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
