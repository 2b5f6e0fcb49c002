"""Comparison of two results: the settings that differ, and the difference of each figure.

With common random numbers, replication i of both results is a pair, and noise that both share
cancels in their difference (Law, *Simulation Modeling and Analysis*, 5th ed., sections 10.2.1 and
11.2). Random streams are named after components, so a pair shares the streams of all components
that both scenarios have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from marqueue.errors import RunError, differing_values
from marqueue.results import CONFIDENCE, ChosenFigure, Figure, Result, Subject, choose_all, subjects
from marqueue.results.congested_links import CONGESTION, congested_links
from marqueue.results.result_warnings import MOST_LISTED, listed
from marqueue.results.subject import Kind
from marqueue.statistics.estimates import Estimate, differences

#: Keys of a scenario that do not affect the simulation.
_NOT_SETTINGS = ("name", "description")


@dataclass(frozen=True)
class Setting:
    """A value that differs between the two scenarios."""

    path: str
    a: str
    b: str


@dataclass(frozen=True)
class Difference:
    """A figure of a link or of flows in A and B, and B - A, in base units."""

    subject: Subject
    figure: Figure[Any]
    a: Estimate
    b: Estimate
    difference: Estimate

    def in_unit(self) -> tuple[Estimate, Estimate, Estimate]:
        """A, B and B - A in the unit that reports show."""
        a, b, difference = (e.scaled(self.figure.scale) for e in (self.a, self.b, self.difference))
        return a, b, difference

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval of the difference excludes zero; None without an interval."""
        interval = self.difference.interval
        return None if interval is None else not interval[0] <= 0 <= interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, in base units."""
        return {
            "a": self.a.as_dict(),
            "b": self.b.as_dict(),
            "difference": self.difference.as_dict(),
            "excludes_zero": self.excludes_zero,
        }


@dataclass(frozen=True)
class Comparison:
    """Two results A and B with their differences."""

    a: Result
    b: Result
    settings: tuple[Setting, ...]
    differences: tuple[Difference, ...]
    left_out: int = 0
    """Links that both have and that are not compared, because there are too many."""

    def by_subject(self) -> dict[Subject, list[Difference]]:
        """The differences of each link, of all flows, and of each group and class."""
        out: dict[Subject, list[Difference]] = {}
        for each in self.differences:
            out.setdefault(each.subject, []).append(each)
        return out

    def by_link(self) -> dict[str, list[Difference]]:
        """The differences of each link."""
        return self._by_name("link")

    def by_group(self) -> dict[str, list[Difference]]:
        """The differences of each group of flows."""
        return self._by_name("group")

    def by_class(self) -> dict[str, list[Difference]]:
        """The differences of each class of flows."""
        return self._by_name("class")

    def _by_name(self, kind: Kind) -> dict[str, list[Difference]]:
        return {of.name: each for of, each in self.by_subject().items() if of.kind == kind}

    @property
    def paired(self) -> bool:
        """Whether the replications are pairs with common random numbers."""
        return are_pairs(self.a, self.b)

    @property
    def method(self) -> str:
        """How the intervals were computed, as a sentence."""
        n = self.a.replications
        if self.paired and n > 1:
            return (
                f"Common random numbers: seed {self.a.provenance.seed}, {n} pairs of replications; "
                "Student intervals over the differences of the pairs."
            )
        if self.paired:
            return "One pair of replications: no intervals."
        numbers = self.a.replications, self.b.replications
        one, other = (
            f"seed {each.provenance.seed} with {n} replication{'s' * (n > 1)}"
            for each, n in zip((self.a, self.b), numbers, strict=True)
        )
        if min(numbers) == 1:
            return f"No pairs ({one}, {other}), and one replication alone: no intervals."
        return f"No pairs ({one}, {other}): Welch intervals, for independent samples."

    def remarks(self) -> list[str]:
        """Limits of what the differences mean, one sentence each."""
        out = []
        if self.left_out:
            out.append(
                f"{self.left_out:,} links are left out: compared are the {MOST_LISTED} of A and "
                f"of B with the {CONGESTION}, and figures that are named."
            )
        if any(each.difference.interval for each in self.differences):
            out.append(
                "Each interval has a confidence of 95% on its own: of twenty figures that do not "
                "differ, one is expected to exclude zero."
            )
        out += [
            f"{letter}: {each.provenance.live_remark}"
            for letter, each in (("A", self.a), ("B", self.b))
            if each.provenance.live_remark
        ]
        versions = [each.provenance.version for each in (self.a, self.b)]
        if versions[0] != versions[1]:
            out.append(f"The versions differ: A by {versions[0]}, B by {versions[1]}.")
        if self.a.span() != self.b.span():
            spans = ["{:g} to {:g} s".format(*each.span()) for each in (self.a, self.b)]
            out.append(f"The measured times differ: A {spans[0]}, B {spans[1]}.")
        return out

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, in base units."""
        return {
            "a": self.a.name,
            "b": self.b.name,
            "paired": self.paired,
            "method": self.method,
            "remarks": self.remarks(),
            "confidence": CONFIDENCE,
            "settings": [{"path": s.path, "a": s.a, "b": s.b} for s in self.settings],
            "links": _plain(self.by_link()),
            "flows": _plain({"": self.by_subject().get(Subject("flows"), [])})[""],
            "groups": _plain(self.by_group()),
            "classes": _plain(self.by_class()),
        }


def _plain(differences: Mapping[str, Iterable[Difference]]) -> dict[str, Any]:
    return {
        name: {each.figure.name: each.as_dict() for each in of} for name, of in differences.items()
    }


def are_pairs(a: Result, b: Result) -> bool:
    """Whether replications share their random numbers: both results are simulated, from the same
    seeds."""
    measured = a.provenance.live or b.provenance.live
    return not measured and a.provenance.seeds == b.provenance.seeds


def compare(a: Result, b: Result, figures: Sequence[str] = ()) -> Comparison:
    """Compares two results over the measured time: B - A of each figure, with its 95% interval.

    ``figures`` are names such as ``"delay_p99"`` (of every link), ``"jain"`` (of all flows) and
    ``"long.goodput"`` (of a link, group or class). By default they are all figures of links and of
    groups of flows that both results have; of very many links those of the most congested ones.
    Estimates are in base units: s, bit/s, packets, shares.

    Raises RunError for a figure that one of them lacks, or if one of them is partial.

    >>> from marqueue import load, run, with_overrides
    >>> from marqueue.results.comparison import compare
    >>> red = load("scenarios/dumbbell.toml")
    >>> pie = with_overrides(red, ["topology.bottleneck.aqm=pie"])
    >>> results = [run(each, replications=2) for each in (red, pie)]
    >>> delay, fairness = compare(*results, ["delay_p99", "jain"]).differences
    >>> delay.difference.mean == delay.b.mean - delay.a.mean  # s
    True
    >>> str(fairness.subject)
    'all flows'
    """
    for each in (a, b):
        if each.provenance.partial_remark:
            raise RunError(
                f"{each.name}: expected complete results. {each.provenance.partial_remark}"
            )
    of_a, of_b = (
        {key: value for key, value in each.scenario.items() if key not in _NOT_SETTINGS}
        for each in (a, b)
    )
    differing = tuple(Setting(*each) for each in differing_values(of_a, of_b, MOST_LISTED))
    if figures:
        return Comparison(a, b, differing, tuple(_differences(a, b, _chosen(a, b, figures))))
    links = congested_in_either(a, b, MOST_LISTED)
    wanted = [
        ChosenFigure(subject, figure)
        for subject in subjects(links, listed(_in_both(a.groups, b.groups)), ())
        if subject.name
        for figure in subject.figures.values()
    ]
    left_out = len(_in_both(a.links, b.links)) - len(links)
    return Comparison(a, b, differing, tuple(_differences(a, b, wanted)), left_out)


def congested_in_either(a: Result, b: Result, most: int) -> list[str]:
    """The links of both that are among the ``most`` most congested ones of either, in the order of
    A."""
    worst = {*congested_links(a, most), *congested_links(b, most)}
    return [name for name in _in_both(a.links, b.links) if name in worst]


def _in_both(a: Sequence[str], b: Sequence[str]) -> list[str]:
    in_b = set(b)
    return [name for name in a if name in in_b]


def _chosen(a: Result, b: Result, figures: Sequence[str]) -> list[ChosenFigure]:
    """The figures that are named, of subjects that both have."""
    of_a, of_b = (subjects(each.links, each.groups, each.classes) for each in (a, b))
    in_b = set(of_b)
    return choose_all(figures, [each for each in of_a if each in in_b])


def _differences(a: Result, b: Result, wanted: Iterable[ChosenFigure]) -> Iterator[Difference]:
    """The difference of each figure that has a value in both results."""
    paired = are_pairs(a, b)
    for subject, chosen in groupby(wanted, lambda each: each.subject):
        in_a, in_b = (subject.samples(each) for each in (a, b))
        for figure in (each.figure for each in chosen):
            amounts = [figure.of(each) for each in (in_a, in_b)]
            of_a, of_b = (each.estimate(CONFIDENCE) for each in amounts)
            if not of_a.n or not of_b.n:
                continue
            terms_a, terms_b = (each.terms for each in amounts)
            difference = (
                Estimate.of(differences(terms_a, terms_b), CONFIDENCE)
                if paired
                else Estimate.welch(terms_a, terms_b, CONFIDENCE)
            )
            yield Difference(subject, figure, of_a, of_b, difference)
