"""Running a scenario: replications in parallel, with one result that does not depend on how many at
a time."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

import numpy as np

from marqueue import _core
from marqueue.manifest import describe
from marqueue.result import Result
from marqueue.scenario import Scenario, compile, from_dict

Progress = Callable[[float, float], None]
"""Is told how many simulated seconds are done, and of how many."""

POLL = 0.1
"""How often, in seconds, the main thread looks at progress and interrupts."""


def replication_seed(seed: int, replication: int) -> int:
    """The engine's seed for a replication, counted from 0: the first 64-bit word that numpy's
    ``SeedSequence([seed, replication])`` generates."""
    return int(np.random.SeedSequence([seed, replication]).generate_state(1, np.uint64)[0])


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario and gives its result.

    ``seed`` and ``replications`` replace the scenario's own; ``jobs`` is how many replications run
    at a time, by default one a processor. The result is the same for any ``jobs``. An interrupt
    (Ctrl-C) stops the run within a fraction of a second.
    """
    given = {"seed": seed, "replications": replications}
    scenario = from_dict(
        scenario.to_dict() | {key: value for key, value in given.items() if value is not None}
    )
    plan = compile(scenario)
    seeds = [replication_seed(scenario.seed, r) for r in range(scenario.replications)]
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    raws, cpu_seconds = _replicate(
        json.dumps(plan), seeds, jobs or _processors(), progress, scenario
    )
    manifest = describe(scenario, seeds, started_at, time.perf_counter() - started, cpu_seconds)
    return Result.from_raw(scenario.to_dict(), plan, manifest, raws)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _replicate(
    plan: str, seeds: list[int], jobs: int, progress: Progress | None, scenario: Scenario
) -> tuple[list[dict[str, Any]], float]:
    """The engine's raw results in the order of the seeds, and the CPU time that they took."""
    controls = [_core.Control() for _ in seeds]
    total = scenario.duration.seconds * len(seeds)

    def replicate(seed: int, control: _core.Control) -> tuple[dict[str, Any], float]:
        before = time.thread_time()
        raw = _core.run(plan, seed, control)
        return raw, time.thread_time() - before

    with ThreadPoolExecutor(
        max_workers=min(jobs, len(seeds)), thread_name_prefix="replication"
    ) as pool:
        futures = [pool.submit(replicate, *each) for each in zip(seeds, controls, strict=True)]
        try:
            pending: set[Future[tuple[dict[str, Any], float]]] = set(futures)
            while pending:
                done, pending = wait(pending, timeout=POLL, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if progress:
                    progress(sum(control.done_secs() for control in controls), total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for control in controls:
                control.cancel()
            raise
    outcomes = [future.result() for future in futures]
    return [raw for raw, _ in outcomes], sum(cpu for _, cpu in outcomes)
