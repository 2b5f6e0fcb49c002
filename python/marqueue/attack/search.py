"""The search for the worst traffic, by differential evolution (scipy).

Differential evolution (Storn and Price, J. Global Optimization 11, 1997) needs no gradient, takes
bounds, and asks for a whole generation at a time, which runs in threads. Its first generation is a
Latin hypercube, random traffic within the bounds. Every run has the same seed, so a candidate's
harm is a function of its traffic; the harm of the worst is measured again with other seeds, beside
random traffic with these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from scipy.optimize import Bounds, differential_evolution

from marqueue.attack.harm import GOALS, Goal
from marqueue.attack.traffic import (
    NAMES,
    NEUTRAL,
    Setting,
    Traffic,
    free,
    scenario,
    traffic_at,
)
from marqueue.errors import RunError, show, unknown
from marqueue.results import CONFIDENCE
from marqueue.scenario import Scenario
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate, Floats

Progress = Callable[[float, float], None]

#: Candidates of a generation, at least and at most, and generations that a budget is divided into.
FEWEST, MOST, GENERATIONS = 8, 40, 12
#: The least search: two generations.
LEAST = 2 * FEWEST
#: Fresh seeds for the worst, and pieces of random traffic to compare with, at most.
FRESH, RANDOM = 10, 40
#: The share of the harm that a minimized attack keeps.
KEPT = 0.95
#: Factor by which a burst becomes shorter in minimizing, while the harm stays; how often at most.
SHORTER, SHORTENINGS = 0.8, 9
#: What can be put back to neutral in minimizing: period and length of the bursts stay.
RESTORED = NAMES[2:]
#: Runs that minimizing takes at most: the attack as found, and each attempt.
MINIMIZING = 1 + len(RESTORED) + SHORTENINGS


@dataclass(frozen=True)
class Attack:
    """The worst traffic that was found."""

    setting: Setting
    goal: Goal
    seed: int
    budget: int
    """Runs in all, at most."""
    worst: Traffic
    """Minimized."""
    found: Traffic
    """As the search left it."""
    harm: Estimate
    """Of the worst, over fresh seeds."""
    without: Estimate
    """Of the victims alone."""
    random: Floats
    """Of random traffic within the bounds, each with a fresh seed."""
    history: tuple[float, ...]
    """The worst harm after each generation."""
    runs: int

    @property
    def scenario(self) -> Scenario:
        """The worst traffic, for ``marqueue run``."""
        return scenario(self.setting, self.worst, fresh_seed(self.seed), self.harm.n)


def attack(
    setting: Setting,
    goal: str,
    *,
    budget: int = 600,
    seed: int = 1,
    fresh: int | None = None,
    random: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Attack:
    """Searches for the traffic that does most harm, with at most ``budget`` runs in all.

    The worst is measured with ``fresh`` other seeds, beside the victims alone and so many pieces of
    ``random`` traffic. By default these numbers grow with the budget, up to :data:`FRESH` and
    :data:`RANDOM`. Minimizing may take :data:`MINIMIZING` runs; the search has the rest.

    Raises RunError for an unknown goal, a budget that leaves less than :data:`LEAST` runs to the
    search, a share outside (0, 1], or victims whose windows cannot be sampled, and ScenarioError
    for a buffer or parameters that the AQM does not take.
    """
    if goal not in GOALS:
        raise RunError(f"--goal: {unknown(goal, GOALS)}")
    seeds, pieces = _comparison(budget)
    fresh = seeds if fresh is None else fresh
    random = pieces if random is None else random
    search = budget - MINIMIZING - 2 * fresh - random
    if search < LEAST:
        raise RunError(f"--budget: got {budget}, expected at least {least_budget()} runs")
    if not 0 < setting.share <= 1:
        raise RunError(f"--share: got {setting.share:g}, expected above 0, at most 1")
    if goal == "synchronization" and setting.follows_prices:
        raise RunError(
            f"--goal: got {show(goal)}, expected another under {setting.aqm['name']}: its senders "
            "have rates, not windows"
        )
    # The optimizer would hide a mistake in the setting behind an error of its own.
    alone = scenario(setting, None, fresh_seed(seed), fresh)
    trial = _Trial(setting, GOALS[goal], seed, jobs, progress, budget)
    found, history = _evolve(trial, search, seed)
    worst = _minimized(trial, found)
    drawn = np.random.default_rng([seed, 1]).random((random, len(free(setting))))
    other = fresh_seed(seed)
    drawn_traffic = [
        scenario(setting, traffic_at(setting, shares), other + i) for i, shares in enumerate(drawn)
    ]
    harms = trial.measure([scenario(setting, worst, other, fresh), alone, *drawn_traffic])
    harm, without = (Estimate.of(each, CONFIDENCE) for each in harms[:2])
    of_random = np.array([each[0] for each in harms[2:]])
    return Attack(setting, trial.goal, seed, budget, worst, found, harm, without, of_random,
                  tuple(history), trial.runs)  # fmt: skip


def _comparison(budget: int) -> tuple[int, int]:
    """Fresh seeds and pieces of random traffic for a budget: all of them from 160 runs on."""
    return min(max(budget // 16, 2), FRESH), min(max(budget // 4, 4), RANDOM)


def least_budget() -> int:
    """The smallest budget whose search has two generations."""
    return next(
        budget
        for budget in count(MINIMIZING + LEAST)
        if budget - MINIMIZING - 2 * _comparison(budget)[0] - _comparison(budget)[1] >= LEAST
    )


def fresh_seed(seed: int) -> int:
    """A seed apart from that of the search."""
    return seed + 1_000_000


class _Trial:
    """Measures candidates, and counts runs."""

    def __init__(
        self,
        setting: Setting,
        goal: Goal,
        seed: int,
        jobs: int | None,
        progress: Progress | None,
        budget: int,
    ) -> None:
        self.setting, self.goal, self.seed = setting, goal, seed
        self.runs = 0
        self._jobs, self._progress = jobs, progress
        self._budget = budget

    def measure(self, scenarios: Sequence[Scenario]) -> list[list[float]]:
        """The harm in each replication of each scenario."""
        if self._progress:
            self._progress(self.runs, self._budget)
        results = run_each(scenarios, jobs=self._jobs)
        self.runs += sum(each.replications for each in scenarios)
        return [self.goal.of(result, self.setting) for result in results]

    def harms(self, candidates: Sequence[Traffic]) -> list[float]:
        """The harm of each candidate, with the seed of the search."""
        tried = [scenario(self.setting, each, self.seed) for each in candidates]
        return [each[0] for each in self.measure(tried)]


def _evolve(trial: _Trial, budget: int, seed: int) -> tuple[Traffic, list[float]]:
    size = min(max(budget // GENERATIONS, FEWEST), MOST)
    history: list[float] = []

    def generation(_: Callable[..., Any], candidates: Any) -> list[float]:
        harms = trial.harms([traffic_at(trial.setting, shares) for shares in candidates])
        history.append(max([*harms, *history[-1:]]))
        return [-harm for harm in harms]

    dimensions = len(free(trial.setting))
    rng = np.random.default_rng([seed, 0])
    start = (np.argsort(rng.random((dimensions, size))).T + rng.random((size, dimensions))) / size
    done = differential_evolution(
        _no_single_runs,
        Bounds(np.zeros(dimensions), np.ones(dimensions)),
        init=start,
        maxiter=budget // size - 1,
        rng=rng,
        tol=0.0,
        polish=False,
        updating="deferred",
        workers=generation,
    )
    return traffic_at(trial.setting, np.clip(done.x, 0.0, 1.0)), history


def _no_single_runs(_: Floats) -> float:
    raise AssertionError("whole generations are measured")


def _minimized(trial: _Trial, found: Traffic) -> Traffic:
    """Puts parameters back to neutral one at a time, and shortens bursts, while the harm stays."""
    worst = found.within(trial.setting.share)
    [harm] = trial.harms([worst])
    enough = KEPT * harm
    for name in (each for each in reversed(RESTORED) if each not in trial.setting.fixed):
        neutral = replace(worst, **{name: getattr(NEUTRAL, name)})
        if neutral != worst and trial.harms([neutral])[0] >= enough:
            worst = neutral.within(trial.setting.share)
    for _ in range(SHORTENINGS):
        shorter = replace(worst, length=SHORTER * worst.length)
        if trial.harms([shorter])[0] < enough:
            break
        worst = shorter
    return worst


def summary(found: Attack) -> dict[str, Any]:
    """Everything in base units, ready for JSON."""
    low, high = (float(np.quantile(found.random, q)) for q in (0.5, 0.95))
    return {
        "aqm": dict(found.setting.aqm),
        "goal": found.goal.name,
        "harm_is": found.goal.title,
        "seed": found.seed,
        "budget": found.budget,
        "runs": found.runs,
        "link": {
            "rate": found.setting.rate,
            "buffer": found.setting.buffer,
            "victims": found.setting.victims,
            "victims_ecn": found.setting.ecn,
        },
        "bounds": {
            "mean_rate": found.setting.share,
            **{each.name: [each.low, each.high] for each in free(found.setting)},
            **{name: [value, value] for name, value in found.setting.fixed.items()},
        },
        "harm": found.harm.as_dict(),
        "without": found.without.as_dict(),
        "random": {"n": len(found.random), "median": low, "p95": high,
                   "worst": float(found.random.max())},
        "worst": choices(found.worst),
        "as_found": choices(found.found.within(found.setting.share)),
        "history": list(found.history),
    }  # fmt: skip


def choices(traffic: Traffic) -> dict[str, Any]:
    """The attacker's choices by name, and its mean rate."""
    plain: dict[str, Any] = {name: getattr(traffic, name) for name in NAMES}
    return {**plain, "ecn": traffic.ecn_field, "mean_rate": traffic.mean_rate}
