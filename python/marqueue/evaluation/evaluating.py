"""Runs the cases of a suite for contenders and baselines, and judges them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from marqueue import __version__
from marqueue.evaluation.bench import SIMULATED, Bench, Progress
from marqueue.evaluation.case import MAIN, Case, Contender, Effort, Suite
from marqueue.evaluation.criterion import (
    ORDER,
    Judgement,
    Measured,
    Values,
    Verdict,
    judge,
    worst,
)
from marqueue.evaluation.pictures import Picture, picture_of
from marqueue.evaluation.run_data import RunData
from marqueue.results.provenance import commit
from marqueue.scenario import Scenario

T = TypeVar("T")
RUNS = "What a live link cannot run is stated and not judged."

AT_ONCE = 4
"""Runs whose results are in memory together; recorded packets are large."""


@dataclass(frozen=True)
class Outcome:
    """A case, measured and judged for one contender."""

    case: Case[Any]
    measured: Mapping[str, Measured]
    """By label: the contender, then the baselines."""
    judgements: Sequence[Judgement]
    pictures: Mapping[str, Picture]
    """By label, of the main run."""
    scenarios: Mapping[str, Scenario]
    """All that ran, by the name of a file."""

    @property
    def verdict(self) -> Verdict:
        """The verdict that wants attention most."""
        return worst([each.verdict for each in self.judgements])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "case": self.case.name,
            "section": self.case.section,
            "title": self.case.title,
            "verdict": self.verdict,
            "criteria": [each.as_dict() for each in self.judgements],
            "measures": {
                label: {
                    run or "main": {
                        name: {"unit": each.unit, **each.estimate.as_dict()}
                        for name, each in of.items()
                        if each.estimate
                    }
                    for run, of in runs.items()
                }
                for label, runs in self.measured.items()
            },
            "scenarios": {name: each.hash for name, each in self.scenarios.items()},
        }


@dataclass(frozen=True)
class Evaluation:
    """The outcomes of a suite for one contender."""

    suite: Suite[Any]
    effort: Effort
    contender: Contender[Any]
    baselines: Sequence[Contender[Any]]
    outcomes: Sequence[Outcome]
    seed: int
    bench: Bench = SIMULATED
    left_out: Sequence[str] = field(default_factory=tuple)
    """Cases that were not asked for, or are not part of the form."""

    @property
    def verdicts(self) -> Counter[Verdict]:
        """The number of cases with each verdict."""
        return Counter(each.verdict for each in self.outcomes)

    @property
    def failed(self) -> bool:
        """Whether a criterion failed."""
        return self.verdicts["fail"] > 0

    @property
    def summary(self) -> str:
        """The number of each verdict, as text."""
        found = ", ".join(f"{self.verdicts[each]} {each}" for each in ORDER if self.verdicts[each])
        number = len(self.outcomes)
        return f"{number} {'scenario' if number == 1 else 'scenarios'}: {found}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "suite": self.suite.name,
            "version": __version__,
            "commit": commit(),
            "effort": self.effort.value,
            "ran": self.bench.name,
            "seed": self.seed,
            "contender": {"label": self.contender.label, **self.contender.settings},
            "baselines": [{"label": b.label, **b.settings} for b in self.baselines],
            "summary": self.summary,
            "left_out": list(self.left_out),
            "missing": list(self.suite.missing),
            "cases": [each.as_dict() for each in self.outcomes],
        }


def evaluate(
    suite: Suite[T],
    contenders: Sequence[Contender[T]],
    baselines: Sequence[Contender[T]],
    *,
    effort: Effort,
    only: Sequence[str] = (),
    seed: int = 1,
    bench: Bench = SIMULATED,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Evaluates contenders beside baselines, of which the first is that of the suite.

    ``only`` names cases; none for all. Every run has the same seed, so a contender and a baseline
    are compared replication by replication. Simulated, the result is a function of the arguments
    other than ``jobs`` and ``progress``. On a ``bench`` that refuses a scenario of a case none of
    its criteria applies, and cases without scenarios are left out where not all can run.
    """
    work = planned(suite, contenders, baselines, effort=effort, only=only, seed=seed, bench=bench)
    cases = [each.case for each in work]
    total = sum(each.seconds for each in work)
    done = 0.0
    outcomes: dict[str, list[Outcome]] = {each.label: [] for each in contenders}
    for each in work:
        found = _measure(each, bench, jobs, _shifted(progress, done, total))
        for contender in contenders:
            outcomes[contender.label].append(
                _outcome(suite, each, contender, baselines, effort, found)
            )
        done += each.seconds
    return [
        Evaluation(
            suite, effort, each, baselines, outcomes[each.label], seed, bench,
            [case.name for case in suite.cases if case not in cases],
        )
        for each in contenders
    ]  # fmt: skip


_Key = tuple[str, str]
"""Label and run."""


@dataclass(frozen=True)
class Planned(Generic[T]):
    """A case and what runs for it."""

    case: Case[T]
    runs: Mapping[_Key, Scenario]
    refused: str = ""
    """Why nothing runs."""

    @property
    def seconds(self) -> float:
        """Of all scenarios and replications."""
        return sum(map(_seconds, self.runs.values()))


def planned(
    suite: Suite[T],
    contenders: Sequence[Contender[T]],
    baselines: Sequence[Contender[T]],
    *,
    effort: Effort,
    only: Sequence[str] = (),
    seed: int = 1,
    bench: Bench = SIMULATED,
) -> list[Planned[T]]:
    """What :func:`evaluate` runs for these arguments."""
    work = []
    for case in suite.cases:
        if effort not in case.forms or (only and case.name not in only):
            continue
        runs = _runs_of(case, contenders, baselines, effort, seed)
        if bench is not SIMULATED and not runs:
            continue
        runs = {key: bench.prepared(each) for key, each in runs.items()}
        refusals = dict.fromkeys(filter(None, map(bench.refusal, runs.values())))
        work.append(Planned(case, {}, next(iter(refusals))) if refusals else Planned(case, runs))
    return work


def _runs_of(
    case: Case[T],
    contenders: Sequence[Contender[T]],
    baselines: Sequence[Contender[T]],
    effort: Effort,
    seed: int,
) -> dict[_Key, Scenario]:
    """All scenarios of a case. A baseline has the main run only, unless the case says more."""
    runs: dict[_Key, Scenario] = {}
    for each in baselines:
        of = (case.baselines or case.runs)(each.of, effort)
        wanted = list(of) if case.baselines else [MAIN]
        runs |= {(each.label, run): of[run] for run in wanted if run in of}
    for each in contenders:
        runs |= {(each.label, run): of for run, of in case.runs(each.of, effort).items()}
    return {key: each.model_copy(update={"seed": seed}) for key, each in runs.items()}


def _seconds(scenario: Scenario) -> float:
    return float(scenario.duration.seconds * scenario.replications)


def _shifted(progress: Progress | None, done: float, total: float) -> Progress | None:
    if progress is None:
        return None
    return lambda more, _: progress(done + more, total)


@dataclass(frozen=True)
class _Found:
    values: Mapping[str, Values]
    picture: Picture | None
    complaint: str
    """Why the run decides nothing; empty if it does."""


def _measure(
    planned: Planned[Any],
    bench: Bench,
    jobs: int | None,
    progress: Progress | None,
) -> dict[_Key, _Found]:
    """What was measured of each run. Results are dropped as soon as they are measured."""
    found: dict[_Key, _Found] = {}
    case, runs = planned.case, planned.runs
    keys = list(runs)
    before = 0.0
    for first in range(0, len(keys), AT_ONCE):
        batch = keys[first : first + AT_ONCE]
        results = bench.run([runs[key] for key in batch], jobs, _shifted(progress, before, 0.0))
        before += sum(_seconds(runs[key]) for key in batch)
        for key, result in zip(batch, results, strict=True):
            data = RunData(result)
            values = {each.name: each.take(data) for each in case.measures}
            picture = picture_of(data) if key[1] == MAIN else None
            found[key] = _Found(values, picture, bench.complaint(result))
    return found


def _outcome(
    suite: Suite[T],
    planned: Planned[T],
    contender: Contender[T],
    baselines: Sequence[Contender[T]],
    effort: Effort,
    found: Mapping[_Key, _Found],
) -> Outcome:
    case = planned.case
    if planned.refused:
        refused = Judgement("The scenario", None, "", "can run", RUNS, "not applicable",
                            planned.refused)  # fmt: skip
        return Outcome(case, {}, [refused], {}, {})
    labels = list(dict.fromkeys([contender.label, *(each.label for each in baselines)]))
    mine = {key: each for key, each in found.items() if key[0] in labels}
    measured: dict[str, dict[str, Mapping[str, Values]]] = {
        label: {run: each.values for (name, run), each in mine.items() if name == label}
        for label in labels
    }
    complaint = next((each.complaint for each in mine.values() if each.complaint), "")
    judgements = [
        *(
            judge(each, measured[contender.label], measured[suite.baseline], suite.baseline).unless(
                complaint
            )
            for each in case.criteria(contender.of)
        ),
        *case.alone(contender.of, effort),
    ]
    return Outcome(
        case,
        measured,
        judgements,
        {
            label: each.picture
            for label in labels
            for key, each in mine.items()
            if key == (label, MAIN) and each.picture
        },
        {_file_name(case.name, *key): planned.runs[key] for key in mine},
    )


def _file_name(case: str, label: str, run: str) -> str:
    """The name of a scenario file, without its end."""
    text = "-".join(filter(None, (case, label, run)))
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in text)
