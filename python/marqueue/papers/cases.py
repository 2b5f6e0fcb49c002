"""Cases: experiments under choices of readings, simulated until their comparisons are decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial

from marqueue.papers.claims import Claim, read_claims
from marqueue.papers.computing import Computing
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Form, Paper, replicated
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.verdict import Judgement, judge
from marqueue.results import Result
from marqueue.scenario import Scenario, with_overrides
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import completed


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

    @cached_property
    def figures(self) -> Sequence[PaperFigure | PaperTable]:
        """Figures and tables, with the figures' SVG, which takes longest."""
        experiment = self.paper.experiment(self.number)
        made = experiment.draw(self.runs, self.quantities, self.choice)
        for each in made:
            if isinstance(each, PaperFigure):
                _ = each.svg
        return made

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

    def run(self, scenarios: Mapping[str, Scenario]) -> Generator[Mapping[str, Result]]:
        """Yields the results that are there, by :func:`content`: those of earlier calls at first,
        then again with each that completes. What is not asked for again is dropped, because it
        fills memory. Closing the iterator stops the runs."""
        self._found = {key: self._found[key] for key in scenarios if key in self._found}
        missing = [key for key in scenarios if key not in self._found]
        yield self._found
        fresh = completed(
            [scenarios[key] for key in missing], self.jobs, self.progress, self.checkpoints
        )
        with closing(fresh):
            for index, result in fresh:
                made = result.provenance.circumstances
                self.simulated += result.replications - made.from_checkpoints
                self._found[missing[index]] = result
                yield self._found


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
    with Computing() as thread:
        for number, every in asked.items():
            for choice in every:
                thread.compute(partial(paper.experiment(number).theory, choice))
        cases = _cases(paper, asked, counts, form, simulator, thread)
        for more in form.looks[1:]:
            again = {}
            for number, every_case in cases.items():
                undecided = sum(_undecided(case, claims) for case in every_case)
                if undecided:
                    s, are = ("", "is") if undecided == 1 else ("s", "are")
                    say(
                        f"Experiment {number}: {undecided} comparison{s} {are} not decided with "
                        f"{counts[number]} replications; running {more}."
                    )
                    again[number] = asked[number]
                    counts[number] = more
            if not again:
                break
            cases |= _cases(paper, again, counts, form, simulator, thread)
    return cases


def _cases(
    paper: Paper,
    asked: Mapping[str, Sequence[Choice]],
    counts: Mapping[str, int],
    form: Form,
    simulator: Simulator,
    thread: Computing,
) -> dict[str, list[Case]]:
    """The cases with these replications of each experiment. Each is measured as soon as its runs
    are complete. What no later look can change is drawn at once, while others run."""
    scenarios: dict[str, Scenario] = {}
    planned: list[tuple[str, Choice, dict[str, str]]] = []
    for number, every in asked.items():
        for choice in every:
            named = scenarios_of(paper, number, choice, form, counts[number])
            keys = {name: content(each) for name, each in named.items()}
            scenarios |= {keys[name]: each for name, each in named.items()}
            planned.append((number, choice, keys))
    made: dict[tuple[str, str], Case] = {}
    with closing(simulator.run(scenarios)) as completing:
        for found in completing:
            for number, choice, keys in planned:
                at = number, choice.label
                if at not in made and all(key in found for key in keys.values()):
                    runs = {name: found[key] for name, key in keys.items()}
                    made[at] = Case(paper, number, choice, runs, form.confidence)
                    thread.compute(partial(getattr, made[at], "quantities"))
                    if choice is asked[number][0] and counts[number] == form.looks[-1]:
                        thread.compute(partial(getattr, made[at], "figures"))
    thread.wait()
    return {
        number: [made[number, choice.label] for choice in every] for number, every in asked.items()
    }


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
