"""An experiment: a scenario with its stopping rule, run as a pilot and rounds of replications."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from marqueue._core import replication_seed
from marqueue.errors import RunError
from marqueue.garbage_collector import paused_collector
from marqueue.results import Result, subjects_of
from marqueue.results.figure import Amounts
from marqueue.results.provenance import describe, here
from marqueue.results.raw_flows import flow_count
from marqueue.results.samples import samples_of
from marqueue.scenario import Scenario, from_dict, kernels_in, plan_text
from marqueue.simulation.checkpoints import Outcome, Replication
from marqueue.simulation.executor import Executor, Steps, Work
from marqueue.simulation.limits import Limits
from marqueue.simulation.memory import Estimate, refuse_beyond_memory
from marqueue.simulation.stopping_rule import FEWEST, MOST, Bound, sufficient_replications
from marqueue.units import Duration

if TYPE_CHECKING:
    from marqueue.kernels import Kernel
    from marqueue.simulation.warmup import WarmupCut

Rounds = Generator[Sequence[Replication], Sequence[Outcome], tuple[list[Outcome], bool]]
"""Yields replications; returns the outcomes, and whether all bounds are met."""


@dataclass(frozen=True)
class Experiment:
    """A scenario with the bounds of a stopping rule."""

    scenario: Scenario
    bounds: list[Bound]

    @classmethod
    def of(
        cls, scenario: Scenario, seed: int | None, replications: int | None, until: Sequence[str]
    ) -> Experiment:
        """An experiment from the arguments of :func:`marqueue.run`. Raises RunError,
        ScenarioError."""
        most = replications if replications is not None or not until else MOST
        asked = {"seed": seed, "replications": most}
        given = {
            key: value
            for key, value in asked.items()
            if value is not None and value != getattr(scenario, key)
        }
        if given:
            scenario = from_dict(scenario.to_dict() | given)
        among = subjects_of(scenario) if until else ()
        bounds = [Bound.parse(text, among) for text in until]
        if bounds and scenario.replications < FEWEST:
            raise RunError(
                f"replications: got {scenario.replications}, expected at least {FEWEST} with until"
            )
        return cls(scenario, bounds)

    def rules(self, limits: Limits) -> dict[str, Any]:
        """The options besides the scenario that determine the result."""
        return {"until": [bound.text for bound in self.bounds], "max_events": limits.max_events}

    @property
    def pilot(self) -> Scenario | None:
        """The run without warm-up that finds one; None if the scenario gives the warm-up.

        The warm-up affects no packet, so the pilot and the run have the same time series.
        """
        if isinstance(self.scenario.warmup, Duration):
            return None
        few = FEWEST if self.bounds else self.scenario.replications
        return self.scenario.model_copy(update={"warmup": Duration(0), "replications": few})

    @property
    def seconds(self) -> float:
        """The total duration at most, in simulated seconds."""
        runs = [each for each in (self.pilot, self.scenario) if each]
        return sum(each.duration.seconds * each.replications for each in runs)

    def work(self, executor: Executor[Any], limits: Limits) -> Work[Result | None]:
        """The steps of the experiment for an executor. Raises RunError if its memory is not
        there."""
        plan, replications = plan_text(self.scenario), self.scenario.replications
        jobs = min(executor.jobs, replications)
        threads = executor.threads_asked_for(plan)
        refuse_beyond_memory(Estimate.of(plan), self.scenario.sample, jobs, replications, threads)
        return Work(_steps(self, executor, limits), self.seconds)


@dataclass
class _Effort:
    """Time and outcomes of a run so far."""

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    started: float = field(default_factory=time.perf_counter)
    outcomes: list[Outcome] = field(default_factory=list)


def _steps(experiment: Experiment, executor: Executor[Any], limits: Limits) -> Steps[Result | None]:
    """The pilot, if there is one, and the run; the result is None if nothing was measured."""
    spent = _Effort()
    scenario, cut = experiment.scenario, None
    if experiment.pilot:
        outcomes = yield replications_of(experiment.pilot, limits)
        spent.outcomes += outcomes
        pilot = _result(experiment.pilot, spent, outcomes, executor, limits, piloting=True)
        if pilot is None or pilot.partial:
            return pilot
        # Few runs have a pilot.
        from marqueue.simulation.warmup import find_warmup

        cut = find_warmup(pilot)
        scenario = scenario.model_copy(update={"warmup": cut.at})
    outcomes, met = yield from _rounds(scenario, experiment.bounds, executor, limits)
    spent.outcomes += outcomes
    stopping = {
        "until": [bound.text for bound in experiment.bounds],
        "cap": scenario.replications,
        "met": met,
    }
    return _result(
        scenario,
        spent,
        outcomes,
        executor,
        limits,
        cut=cut,
        stopping=stopping if experiment.bounds else None,
    )


def _rounds(
    scenario: Scenario, bounds: Sequence[Bound], executor: Executor[Any], limits: Limits
) -> Rounds:
    """All replications, or the number that meets the bounds; whether the bounds are met."""
    every = replications_of(scenario, limits)
    if not bounds:
        return list((yield every)), True
    wanted = list(dict.fromkeys(bound.subject for bound in bounds))
    measured: list[Amounts] = []
    outcomes: list[Outcome] = []
    flows = 0
    while len(outcomes) < len(every):
        seen = len(outcomes)
        batch = every[seen : max(seen + executor.jobs, FEWEST)]
        fresh = yield batch
        outcomes += fresh
        cut = [seen + i for i, each in enumerate(fresh) if _is_cut(each)]
        if cut:
            return outcomes[: cut[0] + 1], False
        if len(fresh) < len(batch):
            return outcomes, False
        samples = samples_of(scenario, [each.raw for each in fresh], wanted, flows)
        flows += sum(flow_count(each.raw["flows"]) for each in fresh)
        more = [bound.figure.of(samples[bound.subject]) for bound in bounds]
        measured = [a + b for a, b in zip(measured, more, strict=True)] if seen else more
        number = sufficient_replications(bounds, measured, seen)
        if number is not None:
            return outcomes[:number], True
    return outcomes, False


def replications_of(scenario: Scenario, limits: Limits) -> list[Replication]:
    """The replications of a scenario."""
    plan = plan_text(scenario)
    kernels: tuple[Kernel, ...] = ()
    if names := kernels_in(scenario):
        # Few runs have kernels.
        from marqueue.kernels import find_host

        kernels = tuple(map(find_host, names))
    return [
        Replication(
            plan,
            replication_seed(scenario.seed, r),
            scenario.duration.seconds,
            limits.max_events,
            kernels,
            scenario.name,
        )
        for r in range(scenario.replications)
    ]


def _is_cut(outcome: Outcome) -> bool:
    return bool(outcome.raw["ended"] < outcome.raw["edges"][-1])


def _program_costs(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]] | None:
    """What programs in Python cost over all replications; None without any."""
    costs: dict[str, dict[str, float]] = {}
    for each in outcomes:
        for name, packets, seconds in each.raw.get("program_costs", ()):
            of = costs.setdefault(name, {"packets": 0, "seconds": 0.0})
            of["packets"] += packets
            of["seconds"] += seconds
    return costs or None


@paused_collector()
def _result(
    scenario: Scenario,
    spent: _Effort,
    outcomes: Sequence[Outcome],
    executor: Executor[Any],
    limits: Limits,
    *,
    cut: WarmupCut | None = None,
    stopping: dict[str, Any] | None = None,
    piloting: bool = False,
) -> Result | None:
    """The result of these outcomes, partial if a limit was reached; None without any data."""
    there = [each for each in outcomes if each.raw["ended"] > 0]
    if not there:
        return None
    partial = None
    missing = stopping is None and len(there) < scenario.replications
    if (
        missing
        or any(map(_is_cut, there))
        or (executor.stopped and stopping and not stopping["met"])
    ):
        partial = {
            "limit": executor.stopped or f"the limit of {limits.max_events:,} events a replication",
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
            _program_costs(spent.outcomes),
        ),
        cut.as_dict() if cut else None,
        stopping,
        partial,
        kernels={
            each.name: {"version": each.version, "checksum": each.checksum}
            for each in there[0].replication.kernels
        },
    )
    raws = [each.raw for each in there]
    return Result.from_raw(scenario, json.loads(plan_text(scenario)), provenance, raws)
