"""Two results side by side: what differs in the settings, and what that does to each figure.

With common random numbers a replication of one and the same replication of the other are a pair,
and what chance does to both cancels in their difference (Law, *Simulation Modeling and Analysis*,
5th ed., sections 10.2.1 and 11.2). Random streams belong to components by name, so that a pair
shares them as far as the two scenarios have the same components.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from marqueue.errors import RunError, differing_values
from marqueue.result import CONFIDENCE, FLOW_FIGURES, LINK_FIGURES, Figure, Result
from marqueue.stats import Estimate

T = TypeVar("T")

#: What of a scenario does not change a packet.
_NOT_SETTINGS = ("name", "description")


@dataclass(frozen=True)
class Setting:
    """A value of the scenario that is not the same in both."""

    path: str
    a: str
    b: str


@dataclass(frozen=True)
class Difference:
    """A figure of a link or of a group of flows in both results, in base units, and B - A."""

    of: str
    figure: Figure[Any]
    a: Estimate
    b: Estimate
    difference: Estimate

    def shown(self) -> tuple[Estimate, Estimate, Estimate]:
        """A, B and B - A in the figure's unit."""
        a, b, difference = (e.scaled(self.figure.scale) for e in (self.a, self.b, self.difference))
        return a, b, difference

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval of the difference leaves out zero; None without an interval."""
        interval = self.difference.interval
        return None if interval is None else not interval[0] <= 0 <= interval[1]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; base units."""
        return {
            "a": self.a.as_dict(),
            "b": self.b.as_dict(),
            "difference": self.difference.as_dict(),
            "excludes_zero": self.excludes_zero,
        }


@dataclass(frozen=True)
class Comparison:
    """Two results, compared."""

    a: Result
    b: Result
    settings: tuple[Setting, ...]
    differences: tuple[Difference, ...]
    """Of links."""
    flows: tuple[Difference, ...]
    """Of groups of flows."""

    def by_link(self) -> dict[str, list[Difference]]:
        """The differences of each link that both have."""
        return _by_name(self.differences)

    def by_group(self) -> dict[str, list[Difference]]:
        """The differences of each group of flows that both have."""
        return _by_name(self.flows)

    @property
    def paired(self) -> bool:
        """Whether the replications are pairs."""
        return are_pairs(self.a, self.b)

    @property
    def method(self) -> str:
        """How the intervals were made."""
        n = self.a.replications
        if self.paired and n > 1:
            return (
                f"Common random numbers: seed {self.a.provenance.seed}, {n} pairs of replications; "
                "Student intervals over the differences of the pairs."
            )
        if self.paired:
            return "One pair of replications: no intervals."
        one, other = (
            f"seed {each.provenance.seed} with {each.replications} replications"
            for each in (self.a, self.b)
        )
        return f"No pairs ({one}, {other}): Welch intervals, as if both were independent."

    def remarks(self) -> list[str]:
        """What makes the differences mean less than they seem to."""
        out = [
            "Each interval is one of 95% by itself: of twenty figures that do not differ, one is "
            "expected to exclude zero."
        ]
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
        """For JSON; base units."""
        return {
            "a": self.a.name,
            "b": self.b.name,
            "paired": self.paired,
            "method": self.method,
            "remarks": self.remarks(),
            "confidence": CONFIDENCE,
            "settings": [{"path": s.path, "a": s.a, "b": s.b} for s in self.settings],
            "links": {
                link: {each.figure.name: each.as_dict() for each in differences}
                for link, differences in self.by_link().items()
            },
            "groups": {
                group: {each.figure.name: each.as_dict() for each in differences}
                for group, differences in self.by_group().items()
            },
        }


def _by_name(differences: Iterable[Difference]) -> dict[str, list[Difference]]:
    out: dict[str, list[Difference]] = {}
    for each in differences:
        out.setdefault(each.of, []).append(each)
    return out


def are_pairs(a: Result, b: Result) -> bool:
    """Whether replications share their random numbers: they have the same seeds, and nobody real
    draws others."""
    measured = a.provenance.live or b.provenance.live
    return not measured and a.provenance.seeds == b.provenance.seeds


def compare(a: Result, b: Result) -> Comparison:
    """Compares the links and the groups of flows that both results have, over the measured time.

    Raises RunError if a limit ended one of the runs.
    """
    for each in (a, b):
        if each.provenance.partial_remark:
            raise RunError(
                f"{each.name}: expected whole results to compare. {each.provenance.partial_remark}"
            )
    paired = are_pairs(a, b)
    links: list[Difference] = []
    flows: list[Difference] = []
    for name in [link for link in a.links if link in b.links]:
        windows = [each.link(name).windows() for each in (a, b)]
        links += _differences(name, LINK_FIGURES, windows[0], windows[1], paired)
    for name in [group for group in a.groups if group in b.groups]:
        sets = [each.flow_sets(group=name) for each in (a, b)]
        flows += _differences(name, FLOW_FIGURES, sets[0], sets[1], paired)
    settings = (
        {key: value for key, value in each.scenario.items() if key not in _NOT_SETTINGS}
        for each in (a, b)
    )
    differing = tuple(Setting(*each) for each in differing_values(*settings))
    return Comparison(a, b, differing, tuple(links), tuple(flows))


def _differences(
    name: str, figures: Iterable[Figure[T]], a: Sequence[T], b: Sequence[T], paired: bool
) -> Iterator[Difference]:
    """Of each figure that both have; ``a`` and ``b`` have one entry a replication."""
    for figure in figures:
        of_a, of_b = (figure.estimate(each, CONFIDENCE) for each in (a, b))
        if not of_a.n or not of_b.n:
            continue
        terms_a, terms_b = figure.terms(a), figure.terms(b)
        difference = (
            Estimate.of(terms_b - terms_a, CONFIDENCE)
            if paired
            else Estimate.welch(terms_a, terms_b, CONFIDENCE)
        )
        yield Difference(name, figure, of_a, of_b, difference)
