"""What a sweep will cost: the costs of some of its points, each predicted as that of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marqueue.results import Result
from marqueue.simulation.cost import Cost, RunCost, predict_experiment, reached
from marqueue.simulation.executor import Progress
from marqueue.simulation.experiment import replications_of
from marqueue.simulation.limits import NO_LIMITS, Limits, resident_bytes
from marqueue.simulation.memory import free_bytes
from marqueue.simulation.sweep import SweepRequest
from marqueue.simulation.timed_runs import time_of_part

MOST = 8
"""Points that are measured."""


@dataclass(frozen=True, kw_only=True)
class SweepCost(Cost):
    """The predicted cost of a sweep."""

    points: int
    measured: tuple[int, ...]
    """The numbers of the points of which a part was run. The others are taken to cost what these
    cost on average."""


def predict_sweep(
    request: SweepRequest,
    *,
    jobs: int | None = None,
    limits: Limits = NO_LIMITS,
    progress: Progress | None = None,
) -> SweepCost:
    """Predicts the cost of a sweep from at most :data:`MOST` points, which are evenly spaced in the
    grid and include the first and the last.

    Raises RunError and ScenarioError as :func:`~marqueue.simulation.cost.predict` does.
    """
    points = len(request.points)
    chosen = np.unique(np.linspace(0, points - 1, min(points, MOST)).round().astype(int)).tolist()
    of_point = Limits(max_events=limits.max_events)
    costs: list[RunCost] = []
    base, free, added = float(resident_bytes()), free_bytes(), 0.0
    for i in chosen:
        before = resident_bytes()
        costs.append(
            predict_experiment(
                request.runs[i], jobs=1, threads=1, limits=of_point, write=Result.write_files
            )
        )
        added = max(added, costs[-1].memory - before)
        if progress is not None:
            progress(len(costs), len(chosen))
    each = points / len(costs)
    replications = round(each * sum(cost.replications for cost in costs))
    at_a_time = min(jobs or len(os.sched_getaffinity(0)), replications)
    slower = _slowdown(request, chosen, costs, at_a_time)
    cpu = slower * each * sum(cost.cpu_seconds for cost in costs)
    results = each * sum(cost.result_seconds for cost in costs)
    # The last replications may be the longest.
    longest = slower * max(cost.cpu_seconds / cost.replications for cost in costs)
    wall, memory = max((cpu + results) / at_a_time, longest), base + at_a_time * added
    numbers = [i + 1 for i in chosen]
    return SweepCost(
        points=points,
        measured=tuple(numbers),
        replications=replications,
        events=each * sum(cost.events for cost in costs),
        packets=each * sum(cost.packets for cost in costs),
        cpu_seconds=cpu,
        result_seconds=results,
        wall_seconds=wall,
        jobs=at_a_time,
        threads=1,
        memory=memory,
        free_memory=free,
        later=_of_points(numbers, [cost.later for cost in costs]),
        until=costs[0].until,
        limits=(
            *_of_points(numbers, [cost.limits for cost in costs]),
            *reached(limits, wall, memory),
        ),
    )


def _slowdown(
    request: SweepRequest, chosen: Sequence[int], costs: Sequence[RunCost], at_once: int
) -> float:
    """How many times as much CPU time replications take beside each other: measured with the point
    that takes most of it."""
    at_once = min(at_once, len(os.sched_getaffinity(0)))
    if at_once == 1:
        return 1.0
    number, cost = max(zip(chosen, costs, strict=True), key=lambda pair: pair[1].cpu_seconds)
    replication = replications_of(request.runs[number].scenario, NO_LIMITS)[0]
    half = max(1, round(cost.measured_share * cost.events / cost.replications / 2))
    return time_of_part(replication, half, at_once) / time_of_part(replication, half)


def _of_points(numbers: list[int], said: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What is said of all points, once, or of some with their numbers."""
    where: dict[str, list[int]] = {}
    for number, texts in zip(numbers, said, strict=True):
        for text in texts:
            where.setdefault(text, []).append(number)
    return tuple(
        text
        if len(found) == len(numbers)
        else f"{text} (point{'s' * (len(found) > 1)} {', '.join(map(str, found))})"
        for text, found in where.items()
    )
