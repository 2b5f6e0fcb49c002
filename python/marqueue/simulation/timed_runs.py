"""Runs of the engine that are timed, to predict what others will cost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from statistics import fmean, median
from typing import Any, TypeVar

import marqueue._core as _core
from marqueue.simulation.checkpoints import Replication
from marqueue.simulation.executor import POLL

#: Runs that are shorter are timed again until they have taken so long, s.
LONG_ENOUGH = 0.05
NS = 1e9

T = TypeVar("T")


def interruptible(controls: Sequence[_core.Control], work: Callable[[_core.Control], T]) -> list[T]:
    """What a function returns that runs once under each control, all at once. Each call has a
    thread of its own, so that Ctrl-C ends them at once."""
    with ThreadPoolExecutor(len(controls), "measurement") as pool:
        futures = [pool.submit(work, control) for control in controls]
        try:
            while wait(futures, timeout=POLL).not_done:
                pass
        except BaseException:
            for control in controls:
                control.cancel()
            raise
    return [future.result() for future in futures]


def time_of_part(replication: Replication, events: int, at_once: int = 1) -> float:
    """The CPU time that so many events of a replication take, where so many replications run at
    once, which share caches and memory (s). This process has had the memory before."""

    def run(control: _core.Control) -> float:
        took: list[float] = []
        while sum(took) < LONG_ENOUGH:
            began = time.thread_time()
            _core.run(replication.plan, replication.seed, control, {})
            took.append(time.thread_time() - began)
        return median(took)

    return fmean(interruptible([_core.Control(events) for _ in range(at_once)], run))


def time_on_threads(replication: Replication, plan: Any, seconds: float, threads: int) -> float:
    """The wall time of the first simulated ``seconds`` on several threads without what comes before
    the first event (s)."""
    ends = round(seconds * NS)
    shorter = plan | {"duration": ends}
    shorter["boundaries"] = [each for each in plan["boundaries"] if each < ends]
    shorter["traffic"] = [_writing_within(group, ends) for group in plan["traffic"]]
    text = json.dumps(shorter)

    def run(control: _core.Control, threads: int) -> float:
        began = time.perf_counter()
        _core.run(text, replication.seed, control, {}, threads)
        return time.perf_counter() - began

    [start] = interruptible([_core.Control(1)], lambda control: run(control, 1))
    [whole] = interruptible([_core.Control()], lambda control: run(control, threads))
    return max(0.0, whole - start)


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
