"""What a run is asked for, and the steps that it takes: the pilot, rounds of replications, the
result."""

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from marqueue.errors import RunError
from marqueue.results import Result, Subject, subjects_of
from marqueue.results.provenance import describe, here
from marqueue.results.samples import samples_of
from marqueue.scenario import Scenario, compile, from_dict
from marqueue.simulation.checkpoints import Outcome, Replication
from marqueue.simulation.executor import Executor, Steps, Work
from marqueue.simulation.limits import Limits
from marqueue.simulation.stopping_rule import FEWEST, MOST, Bound, enough
from marqueue.simulation.warmup import WarmupCut, find
from marqueue.units import Duration

Rounds = Generator[Sequence[Replication], Sequence[Outcome], tuple[list[Outcome], bool]]
"""The replications of a run, and whether they are all that were asked for."""


def replication_seed(seed: int, replication: int) -> int:
    """The engine's seed for a replication, counted from 0: the first 64-bit word that numpy's
    ``SeedSequence([seed, replication])`` generates."""
    return int(np.random.SeedSequence([seed, replication]).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Experiment:
    """A scenario with the rules by which replications are added."""

    scenario: Scenario
    bounds: list[Bound]

    @classmethod
    def of(
        cls, scenario: Scenario, seed: int | None, replications: int | None, until: Sequence[str]
    ) -> "Experiment":
        """What :func:`marqueue.run` is asked, checked."""
        most = replications if replications is not None or not until else MOST
        given = {"seed": seed, "replications": most}
        scenario = from_dict(
            scenario.to_dict() | {key: value for key, value in given.items() if value is not None}
        )
        among = subjects_of(scenario) if until else ()
        bounds = [Bound.parse(text, among) for text in until]
        if bounds and scenario.replications < FEWEST:
            raise RunError(
                f"replications: got {scenario.replications}, expected at least {FEWEST} with until"
            )
        return cls(scenario, bounds)

    def rules(self, limits: Limits) -> dict[str, Any]:
        """What else than the scenario decides about the result."""
        return {"until": [bound.text for bound in self.bounds], "max_events": limits.max_events}

    @property
    def pilot(self) -> Scenario | None:
        """What finds the warm-up, if it is to be found: a run without one.

        Where to cut changes no packet, so that pilot and run have the same series.
        """
        if isinstance(self.scenario.warmup, Duration):
            return None
        few = FEWEST if self.bounds else self.scenario.replications
        return self.scenario.model_copy(update={"warmup": Duration(0), "replications": few})

    @property
    def seconds(self) -> float:
        """How many simulated seconds it takes at most."""
        runs = [each for each in (self.pilot, self.scenario) if each]
        return sum(each.duration.seconds * each.replications for each in runs)

    def work(self, pool: Executor[Any], limits: Limits) -> Work[Result | None]:
        """The steps in a pool."""
        return Work(_steps(self, pool, limits), self.seconds)


@dataclass
class _Effort:
    """What a run has taken so far."""

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    started: float = field(default_factory=time.perf_counter)
    outcomes: list[Outcome] = field(default_factory=list)


def _steps(asked: Experiment, pool: Executor[Any], limits: Limits) -> Steps[Result | None]:
    """A pilot, if the warm-up is to be found, and the run; None if nothing was measured."""
    spent = _Effort()
    scenario, cut = asked.scenario, None
    if asked.pilot:
        outcomes = yield replications_of(asked.pilot, limits)
        spent.outcomes += outcomes
        pilot = _result(asked.pilot, spent, outcomes, pool, limits, piloting=True)
        if pilot is None or pilot.partial:
            return pilot
        cut = find(pilot)
        scenario = scenario.model_copy(update={"warmup": cut.at})
    outcomes, met = yield from _rounds(scenario, asked.bounds, pool, limits)
    spent.outcomes += outcomes
    stopping = {
        "until": [bound.text for bound in asked.bounds],
        "cap": scenario.replications,
        "met": met,
    }
    return _result(
        scenario,
        spent,
        outcomes,
        pool,
        limits,
        cut=cut,
        stopping=stopping if asked.bounds else None,
    )


def _rounds(
    scenario: Scenario, bounds: Sequence[Bound], pool: Executor[Any], limits: Limits
) -> Rounds:
    """All replications, or as many as it takes to meet the bounds; whether they are met."""
    every = replications_of(scenario, limits)
    if not bounds:
        return list((yield every)), True
    wanted = list(dict.fromkeys(bound.subject for bound in bounds))
    samples: dict[Subject, list[Any]] = {subject: [] for subject in wanted}
    outcomes: list[Outcome] = []
    while len(outcomes) < len(every):
        seen = len(outcomes)
        batch = every[seen : max(seen + pool.jobs, FEWEST)]
        fresh = yield batch
        outcomes += fresh
        cut = [i for i, each in enumerate(outcomes) if _is_cut(each)]
        if cut:
            return outcomes[: cut[0] + 1], False
        if len(fresh) < len(batch):
            return outcomes, False
        for subject, more in samples_of(scenario, [each.raw for each in fresh], wanted).items():
            samples[subject] += more
        number = enough(bounds, samples, seen)
        if number is not None:
            return outcomes[:number], True
    return outcomes, False


def replications_of(scenario: Scenario, limits: Limits) -> list[Replication]:
    """What the engine is asked for a scenario."""
    plan = json.dumps(compile(scenario))
    return [
        Replication(
            plan,
            replication_seed(scenario.seed, r),
            scenario.duration.seconds,
            limits.max_events,
        )
        for r in range(scenario.replications)
    ]


def _is_cut(outcome: Outcome) -> bool:
    return bool(outcome.raw["ended"] < outcome.raw["edges"][-1])


def _result(
    scenario: Scenario,
    spent: _Effort,
    outcomes: Sequence[Outcome],
    pool: Executor[Any],
    limits: Limits,
    *,
    cut: WarmupCut | None = None,
    stopping: dict[str, Any] | None = None,
    piloting: bool = False,
) -> Result | None:
    """The result of these outcomes, partial if a limit was reached; None if there is nothing."""
    there = [each for each in outcomes if each.raw["ended"] > 0]
    if not there:
        return None
    partial = None
    missing = stopping is None and len(there) < scenario.replications
    if missing or any(map(_is_cut, there)) or (pool.stopped and stopping and not stopping["met"]):
        partial = {
            "limit": pool.stopped or f"the limit of {limits.max_events:,} events a replication",
            "max_events": limits.max_events,
            "ended": [float(each.raw["ended"]) for each in there],
            "duration": scenario.duration.seconds,
            "asked": scenario.replications,
            "pilot": piloting,
        }
    scenario = scenario.model_copy(update={"replications": len(there)})
    provenance = describe(
        scenario,
        [each.replication.seed for each in there],
        here(
            spent.started_at,
            time.perf_counter() - spent.started,
            sum(each.cpu_seconds for each in spent.outcomes),
            sum(each.from_checkpoint for each in spent.outcomes),
        ),
        cut.as_dict() if cut else None,
        stopping,
        partial,
    )
    raws = [each.raw for each in there]
    return Result.from_raw(scenario.to_dict(), compile(scenario), provenance, raws)
