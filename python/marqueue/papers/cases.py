"""Cases: experiments under choices of readings, simulated until their comparisons are decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marqueue.papers.claims import Claim, read_claims
from marqueue.papers.paper import Form, Paper, replicated
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.verdict import Judgement, judge
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each


@dataclass(frozen=True)
class Case:
    """An experiment as run under one choice of readings."""

    paper: Paper
    number: str
    """The experiment."""
    choice: Choice
    runs: Runs
    confidence: float
    """Confidence of the intervals that decide."""

    @cached_property
    def quantities(self) -> Quantities:
        """What was measured."""
        return self.paper.experiment(self.number).measure(self.runs, self.choice)

    def judge(self, claim: Claim) -> Judgement:
        """A claim of the experiment under this choice."""
        return judge(claim, self.quantities, self.confidence)


class Simulator:
    """Runs scenarios. Equal ones run once; what was completed before is in the checkpoints."""

    def __init__(
        self, jobs: int | None, progress: Progress | None, checkpoints: Checkpoints
    ) -> None:
        self.jobs = jobs
        self.progress = progress
        self.checkpoints = checkpoints
        self.simulated = 0
        """Replications that did not come from checkpoints."""
        self._found: dict[str, Result] = {}

    def run(self, scenarios: Sequence[Scenario]) -> list[Result]:
        """The results, in order. Those of earlier calls that are not asked for again are dropped,
        because they fill memory."""
        distinct = {content(each): each for each in scenarios}
        missing = {key: each for key, each in distinct.items() if key not in self._found}
        fresh = run_each(
            list(missing.values()),
            jobs=self.jobs,
            progress=self.progress,
            checkpoints=self.checkpoints,
        )
        for result in fresh:
            made = result.provenance.circumstances
            self.simulated += result.replications - made.from_checkpoints
        every = self._found | dict(zip(missing, fresh, strict=True))
        self._found = {key: every[key] for key in distinct}
        return [every[content(each)] for each in scenarios]


def run_cases(
    paper: Paper,
    asked: Mapping[str, Sequence[Choice]],
    form: Form,
    simulator: Simulator,
    say: Callable[[str], None],
) -> dict[str, list[Case]]:
    """Runs each experiment under each of its choices.

    While comparisons of a case are not decided, its set-ups run again with the replications of the
    next look, except those that have their own number of replications.
    """
    claims = read_claims(paper.folder / "claims.toml")
    keys = [(number, choice) for number, every in asked.items() for choice in every]
    counts = [form.looks[0]] * len(keys)
    cases = _cases(paper, keys, counts, form, simulator)
    for more in form.looks[1:]:
        for i, (case, before) in enumerate(zip(cases, counts, strict=True)):
            undecided = _undecided(case, claims)
            if undecided:
                counts[i] = more
                s, are = ("", "is") if undecided == 1 else ("s", "are")
                say(
                    f"Experiment {case.number} (reading {case.choice.label}): {undecided} "
                    f"comparison{s} {are} not decided with {before} replications; running {more}."
                )
        if more not in counts:
            break
        cases = _cases(paper, keys, counts, form, simulator)
    return {number: [case for case in cases if case.number == number] for number in asked}


def _cases(
    paper: Paper,
    keys: Sequence[tuple[str, Choice]],
    counts: Sequence[int],
    form: Form,
    simulator: Simulator,
) -> list[Case]:
    setups = [
        scenarios_of(paper, number, choice, form, count)
        for (number, choice), count in zip(keys, counts, strict=True)
    ]
    results = iter(simulator.run([each for named in setups for each in named.values()]))
    return [
        Case(paper, number, choice, {name: next(results) for name in named}, form.confidence)
        for (number, choice), named in zip(keys, setups, strict=True)
    ]


def _undecided(case: Case, claims: Sequence[Claim]) -> int:
    """The number of comparisons that are not decided."""
    return sum(case.judge(each).counts["open"] for each in claims if each.experiment == case.number)


def scenarios_of(
    paper: Paper, number: str, choice: Choice, form: Form, replications: int
) -> dict[str, Scenario]:
    """The scenarios of an experiment under a choice, by name, with their replications."""
    experiment = paper.experiment(number)
    each = {
        name: replicated(scenario, replications)
        for name, scenario in experiment.setups(choice).items()
    }
    return each if form.quick else each | dict(experiment.full(choice))


def content(scenario: Scenario) -> str:
    """A scenario as text, to find those that are equal."""
    return json.dumps(scenario.to_dict(), sort_keys=True)


def largest_runs(cases: Sequence[Case]) -> list[Result]:
    """The result of each set-up; if it ran with several numbers of replications, that with most."""
    most: dict[str, Result] = {}
    for run in (run for case in cases for run in case.runs.values()):
        key = json.dumps(setup(run), sort_keys=True)
        if key not in most or most[key].replications < run.replications:
            most[key] = run
    return list(most.values())


def setup(run: Result) -> dict[str, Any]:
    """The scenario of a result without the number of replications."""
    return {key: value for key, value in run.scenario.items() if key != "replications"}
