"""Running a scenario: replications in parallel, with one result that does not depend on how many at
a time."""

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

import numpy as np

from marqueue import _core
from marqueue.errors import RunError
from marqueue.manifest import describe
from marqueue.result import Result, Window
from marqueue.result.link import measured_windows
from marqueue.result.names import warmup_windows
from marqueue.result.tables import link_names
from marqueue.scenario import Scenario, compile, from_dict
from marqueue.units import Duration
from marqueue.until import FEWEST, MOST, Bound, enough
from marqueue.warmup import Cut, find

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
    until: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario and gives its result.

    ``seed`` and ``replications`` replace the scenario's own; ``jobs`` is how many replications run
    at a time, by default one a processor. With ``until``, such as ``["utilization ±0.5%"]``,
    replications are added until the 95% interval of every figure named is that narrow;
    ``replications`` is then how many there may be. The result is the same for any ``jobs``, and
    its scenario is the one as run: with the number of replications and with the warm-up, if that
    was to be found. An interrupt (Ctrl-C) stops the run within a fraction of a second.
    """
    most = replications if replications is not None or not until else MOST
    given = {"seed": seed, "replications": most}
    scenario = from_dict(
        scenario.to_dict() | {key: value for key, value in given.items() if value is not None}
    )
    links = link_names(compile(scenario))
    bounds = [Bound.parse(text, links) for text in until]
    if bounds and scenario.replications < FEWEST:
        raise RunError(
            f"replications: got {scenario.replications}, expected at least {FEWEST} with until"
        )
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    workers = jobs or _processors()
    cut = None
    if not isinstance(scenario.warmup, Duration):
        cut, progress = _warmup(scenario, FEWEST if bounds else None, workers, progress)
        scenario = scenario.model_copy(update={"warmup": cut.at})
    raws, cpu_seconds, met = _replications(scenario, bounds, workers, progress)
    stopping = {"until": [b.text for b in bounds], "cap": scenario.replications, "met": met}
    scenario = scenario.model_copy(update={"replications": len(raws)})
    manifest = describe(
        scenario,
        _seeds(scenario),
        started_at,
        time.perf_counter() - started,
        cpu_seconds + (cut.pilot.manifest.cpu_seconds if cut else 0.0),
        cut.as_dict() if cut else None,
        stopping if bounds else None,
    )
    return Result.from_raw(scenario.to_dict(), compile(scenario), manifest, raws)


def _seeds(scenario: Scenario) -> list[int]:
    return [replication_seed(scenario.seed, r) for r in range(scenario.replications)]


def _warmup(
    scenario: Scenario, replications: int | None, jobs: int, progress: Progress | None
) -> tuple[Cut, Progress | None]:
    """Where a pilot without a warm-up says that it ends, and the progress of what is left.

    Where to cut changes no packet, so that pilot and run have the same series.
    """
    pilot = scenario.model_copy(
        update={"warmup": Duration(0), "replications": replications or scenario.replications}
    )
    before = scenario.duration.seconds * pilot.replications
    total = before + scenario.duration.seconds * scenario.replications
    cut = find(run(pilot, jobs=jobs, progress=_shifted(progress, 0.0, total)))
    return cut, _shifted(progress, before, total)


def _shifted(progress: Progress | None, before: float, total: float) -> Progress | None:
    """Progress of a part, told as that of the whole."""
    if progress is None:
        return None
    tell = progress
    return lambda done, _: tell(before + done, total)


def _replications(
    scenario: Scenario, bounds: Sequence[Bound], jobs: int, progress: Progress | None
) -> tuple[list[dict[str, Any]], float, bool]:
    """The raw results of all replications, or of as many as it takes to meet the bounds; the CPU
    time; whether the bounds are met."""
    plan = compile(scenario)
    text = json.dumps(plan)
    seeds = _seeds(scenario)
    seconds = scenario.duration.seconds
    if not bounds:
        return *_replicate(text, seeds, jobs, progress, seconds), True
    measured = range(warmup_windows(scenario.to_dict()), len(plan["boundaries"]) + 1)
    windows: dict[str, list[Window]] = {name: [] for name in link_names(plan)}
    raws: list[dict[str, Any]] = []
    cpu_seconds = 0.0
    while len(raws) < len(seeds):
        seen = len(raws)
        batch = seeds[seen : max(seen + jobs, FEWEST)]
        advance = _shifted(progress, seconds * seen, seconds * len(seeds))
        fresh, cpu = _replicate(text, batch, jobs, advance, seconds)
        raws += fresh
        cpu_seconds += cpu
        for name, more in measured_windows(plan, fresh, measured).items():
            windows[name] += more
        number = enough(bounds, windows, seen)
        if number is not None:
            return raws[:number], cpu_seconds, True
    return raws, cpu_seconds, False


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _replicate(
    plan: str, seeds: list[int], jobs: int, progress: Progress | None, seconds: float
) -> tuple[list[dict[str, Any]], float]:
    """The engine's raw results in the order of the seeds, and the CPU time that they took."""
    controls = [_core.Control() for _ in seeds]
    total = seconds * len(seeds)

    def replicate(seed: int, control: _core.Control) -> tuple[dict[str, Any], float]:
        before = time.thread_time()
        try:
            raw = _core.run(plan, seed, control)
        except _core.TraceFull as full:
            raise RunError(f"trace: {full}") from None
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
