"""On how many threads a replication runs."""

from __future__ import annotations

import json
import os
import re
import time
from functools import lru_cache
from pathlib import Path

import marqueue._core as _core
from marqueue.errors import Problem, ScenarioError
from marqueue.simulation.memory import added_bytes, free_bytes

LOAD = Path("/proc/loadavg")
"""Its fourth field is how many threads of the machine run or wait for a processor."""
LOOKS = 5
"""Looks at how many threads run, so that what takes a millisecond does not count."""
BETWEEN_LOOKS = 0.001
"""Seconds."""


def threads_of(
    plan: str, replications: int, jobs: int | None, threads: int | None, ours: int = 0
) -> int:
    """On how many threads each of so many replications runs, where ``jobs`` at a time and
    ``threads`` of each were asked for or not; ``ours`` is how many threads of other replications
    run here. Without being asked for, several are only used where they are faster than one, on
    processors that have nothing else to do, and where there is memory for them.

    Raises ScenarioError if the plan cannot be run.
    """
    most = threads
    if most is None:
        most = len(os.sched_getaffinity(0)) // replications if jobs is None else 1
    try:
        if most < 2:
            return 1
        if threads is not None:
            return _threads_for(plan, most)[0]
        if _threads_that_pay(plan, most) == 1:
            return 1
        # Threads that wait for each other are slow where they wait for a processor too.
        free = (len(os.sched_getaffinity(0)) - max(0, _running_beside() - ours)) // replications
        pay = _threads_that_pay(plan, free) if free > 1 else 1
        fit = (n for n in range(pay, 1, -1) if added_bytes(plan, 1, 1, n) <= free_bytes())
        return next(fit, 1)
    except _core.PlanError as refused:
        raise ScenarioError([refusal(plan, *refused.args)]) from None


def _running_beside() -> int:
    """How many other threads of the machine run or wait for a processor, as a rule: the median of a
    few looks. Its load average would count what ran a minute ago, such as our last run."""
    looks = []
    for _ in range(LOOKS):
        time.sleep(BETWEEN_LOOKS)
        try:
            load = LOAD.read_text(encoding="ascii")
        except OSError:
            return 0
        looks.append(int(load.split()[3].partition("/")[0]) - 1)
    return sorted(looks)[LOOKS // 2]


def why_one_thread(plan: str, threads: int) -> str | None:
    """Why a replication has one thread where so many were asked for; None if it has several.

    Raises ScenarioError if the plan cannot be run.
    """
    try:
        return _threads_for(plan, threads)[1]
    except _core.PlanError as refused:
        raise ScenarioError([refusal(plan, *refused.args)]) from None


# A large network is divided for seconds, and a run asks again and again.
@lru_cache(maxsize=2)
def _threads_for(plan: str, most: int) -> tuple[int, str | None]:
    return _core.threads_for(plan, most)


@lru_cache(maxsize=2)
def _threads_that_pay(plan: str, most: int) -> int:
    return _core.threads_that_pay(plan, most)


def refusal(plan: str, path: str, message: str) -> Problem:
    """What a kernel says of a plan that is valid otherwise: it is about the qdisc of a link."""
    index = re.match(r"links\[(\d+)\]", path)
    if index:
        path = f"topology.{json.loads(plan)['links'][int(index[1])]['name']}.aqm"
    return Problem(path, message)
