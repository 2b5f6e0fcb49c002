"""What a run will cost: packets, CPU time and memory, predicted from the first part of the run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from marqueue.errors import RunError
from marqueue.garbage_collector import paused_collector
from marqueue.results.labels import group_names
from marqueue.scenario import Scenario, kernels_in
from marqueue.simulation.checkpoints import KEPT_AFTER, Outcome
from marqueue.simulation.experiment import Experiment, replications_of
from marqueue.simulation.limits import NO_LIMITS, Limits, resident_bytes
from marqueue.simulation.measured_part import MeasuredPart, bytes_of_connections, groups_starting
from marqueue.simulation.memory import Estimate, free_bytes, refuse_beyond_memory
from marqueue.simulation.replication_threads import threads_of
from marqueue.simulation.result_cost import ResultWriter, predict_result
from marqueue.simulation.timed_runs import NS, time_of_part, time_on_threads

#: Less CPU time says nothing about threads, s.
TINY = 1e-3
#: With more changes of traffic than these, they are counted.
MOST_CHANGES = 8


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
    result_seconds: float
    """CPU time from its output to the result, with checkpoints and files where they are written."""
    wall_seconds: float
    """From the plan to the last file, if nothing else runs."""
    jobs: int
    """Replications at a time."""
    threads: int
    """Threads of each."""
    memory: float
    """Bytes of the whole process at its largest, from now on."""
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


def predict(
    scenario: Scenario,
    *,
    replications: int | None = None,
    until: Sequence[str] = (),
    jobs: int | None = None,
    threads: int | None = None,
    limits: Limits = NO_LIMITS,
    write: ResultWriter | None = None,
) -> RunCost:
    """Predicts the cost of a run of a scenario.

    The arguments are those of :func:`marqueue.run`; what ``write`` does with the result is a part
    of the cost. Takes about as long as a twentieth of a replication and what the result takes,
    at least half a second.
    Raises RunError if the scenario names kernels, whose time is not that of this process, or if one
    replication does not fit into the memory, so that its first part would not either; and
    ScenarioError.
    """
    experiment = Experiment.of(scenario, None, replications, until)
    return predict_experiment(experiment, jobs=jobs, threads=threads, limits=limits, write=write)


def predict_experiment(
    experiment: Experiment,
    *,
    jobs: int | None,
    threads: int | None,
    limits: Limits,
    write: ResultWriter | None,
) -> RunCost:
    """The same as :func:`predict`, of a scenario with its stopping rule."""
    if kernels := kernels_in(experiment.scenario):
        raise RunError(f"--estimate: expected models as end hosts and queues, got {kernels[0]}")
    # The pilot and the run simulate the same.
    scenario = experiment.pilot or experiment.scenario
    replication = replications_of(scenario, limits)[0]
    with paused_collector():
        plan = json.loads(replication.plan)
    duration = replication.seconds
    number = round(experiment.seconds / duration)
    processors = len(os.sched_getaffinity(0))
    at_a_time = min(jobs or processors, number)
    # As for a run.
    each = 1 if limits != NO_LIMITS else threads_of(replication.plan, number, jobs, threads)
    before, free = float(resident_bytes()), free_bytes()
    estimate = Estimate.of(replication.plan)
    # Samples are the only thing that grows with the time that is run.
    refuse_beyond_memory(estimate.with_samples(0.0, 0.0), scenario.sample, 1, 1, each)
    measured = MeasuredPart(replication, plan)
    start, part, rest = measured.start, measured.part, measured.rest
    ends = part.seconds + rest.seconds
    first = cpu = wall = part.cpu + measured.end + rest.cpu
    if each > 1:
        one = part.cpu + measured.end - start.cpu
        slower = time_on_threads(replication, plan, part.seconds, each) / max(one, TINY)
        wall = start.cpu + (cpu - start.cpu) * slower
        cpu = wall * each
        wall *= max(1.0, at_a_time * each / processors)
    elif number > 1:
        # Half of the part, if there is one, tells what others beside it cost, and what the first
        # replication takes from the system and those after it find.
        half = measured.before if measured.before.events else part
        at_once = min(at_a_time, processors)
        alone = time_of_part(replication, half.events)
        beside = time_of_part(replication, half.events, at_once) if at_once > 1 else alone
        cpu = (cpu - max(0.0, half.cpu + measured.end - alone)) * beside / alone
        wall = cpu * max(1.0, at_a_time / processors)
    from_system = max(0.0, first - cpu)
    rounds = -(-number // at_a_time)
    engine_wall = from_system + rounds * wall
    outcome = Outcome(replication, measured.raw, cpu)
    result = predict_result(
        scenario,
        plan,
        outcome,
        experiment.scenario.replications,
        checkpoints=engine_wall >= KEPT_AFTER and write is not None,
        write=write,
    )
    memory = before + at_a_time * bytes_of_connections(plan, measured)
    measured_samples = float(part.so_far["samples"]) * ends / part.seconds
    memory += estimate.with_samples(measured_samples, result.of_samples).added(
        at_a_time, experiment.scenario.replications, each, result.of_links
    )
    whole_wall = engine_wall + rounds * result.of_checkpoint + result.seconds
    return RunCost(
        replications=number,
        events=number * (part.events + rest.events),
        packets=number * (float(part.so_far["arrivals"].sum()) + rest.packets),
        cpu_seconds=from_system + number * cpu,
        result_seconds=number * result.of_checkpoint + result.seconds,
        wall_seconds=whole_wall,
        jobs=at_a_time,
        threads=each,
        memory=memory,
        free_memory=free,
        later=tuple(_changes(scenario, plan, part.seconds, ends)),
        until=tuple(bound.text for bound in experiment.bounds),
        limits=(*_cut(limits, ends, duration), *reached(limits, whole_wall, memory)),
        measured_seconds=part.seconds,
        measured_share=part.seconds / ends,
    )


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


def _changes(scenario: Scenario, plan: Any, since: float, duration: float) -> Iterator[str]:
    """Traffic that starts or stops after a time, in words."""
    # A group has an entry for each class, of which a large network has as many as routes.
    names = group_names(scenario, plan)
    changes: dict[str, None] = {}
    for name, entry in zip(names, plan["traffic"], strict=True):
        [kind] = entry["kind"].values()
        for key, what in (("start", "starts"), ("stop", "stops")):
            at = (kind.get(key) or 0) / NS
            if since < at < duration:
                changes[f"group {name} {what} at {at:g} s"] = None
    if len(changes) > MOST_CHANGES:
        yield f"groups start or stop {len(changes)} times after {since:.3g} s"
    else:
        yield from changes
    if starting := groups_starting(plan, since, duration):
        groups = {names[i] for i in starting}
        named = f"{len(groups)} groups" if len(groups) > 1 else f"group {next(iter(groups))}"
        yield f"flows of {named} go on starting until {max(starting.values()):g} s"
