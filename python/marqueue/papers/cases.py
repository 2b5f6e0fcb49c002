"""Cases: experiments under choices of readings, simulated until their comparisons are decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from marqueue.papers.claims import Claim, read_claims
from marqueue.papers.paper import Form, Paper, replicated
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.verdict import Judgement, judge
from marqueue.results import Result
from marqueue.scenario import Scenario, with_overrides
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

    While comparisons of an experiment are not decided under one of them, it runs again with the
    replications of the next look, except set-ups that have their own number of replications. All
    its choices have the same replications, so that they differ by the reading only.
    """
    claims = read_claims(paper.folder / "claims.toml")
    counts = dict.fromkeys(asked, form.looks[0])
    cases = _cases(paper, asked, counts, form, simulator)
    for more in form.looks[1:]:
        for number, every in cases.items():
            undecided = sum(_undecided(case, claims) for case in every)
            if undecided:
                s, are = ("", "is") if undecided == 1 else ("s", "are")
                say(
                    f"Experiment {number}: {undecided} comparison{s} {are} not decided with "
                    f"{counts[number]} replications; running {more}."
                )
                counts[number] = more
        if more not in counts.values():
            break
        cases = _cases(paper, asked, counts, form, simulator)
    return cases


def _cases(
    paper: Paper,
    asked: Mapping[str, Sequence[Choice]],
    counts: Mapping[str, int],
    form: Form,
    simulator: Simulator,
) -> dict[str, list[Case]]:
    """The cases with these replications of each experiment."""
    setups = [
        (number, choice, scenarios_of(paper, number, choice, form, counts[number]))
        for number, every in asked.items()
        for choice in every
    ]
    results = iter(simulator.run([each for *_, named in setups for each in named.values()]))
    out: dict[str, list[Case]] = {number: [] for number in asked}
    for number, choice, named in setups:
        runs = {name: next(results) for name in named}
        out[number].append(Case(paper, number, choice, runs, form.confidence))
    return out


def _undecided(case: Case, claims: Sequence[Claim]) -> int:
    """The number of comparisons that are not decided."""
    return sum(case.judge(each).counts["open"] for each in claims if each.experiment == case.number)


def scenarios_of(
    paper: Paper, number: str, choice: Choice, form: Form, replications: int
) -> dict[str, Scenario]:
    """The scenarios of an experiment under a choice, by name, with their replications."""
    experiment = paper.experiment(number)
    setups = experiment.setups(choice)
    if form.quick:
        setups = {
            name: with_overrides(scenario, changes) if changes else scenario
            for name, scenario in setups.items()
            for changes in [experiment.quick(scenario)]
        }
    each = {name: replicated(scenario, replications) for name, scenario in setups.items()}
    return each if form.quick else each | dict(experiment.full(choice))


def content(scenario: Scenario) -> str:
    """A scenario as text, to find those that are equal."""
    return json.dumps(scenario.to_dict(), sort_keys=True)


def largest_runs(cases: Sequence[Case]) -> list[Result]:
    """The result of each set-up; if it ran with several numbers of replications, that with most."""
    most: dict[str, Result] = {}
    for run in (run for case in cases for run in case.runs.values()):
        key = json.dumps(run.scenario | {"replications": None}, sort_keys=True)
        if key not in most or most[key].replications < run.replications:
            most[key] = run
    return list(most.values())
