"""Verdicts, computed from claims and measured quantities; never stored.

At each place a comparison holds if the whole confidence interval lies within the permitted range
and fails if the whole interval lies outside. Otherwise it is open: not decided, and more
replications would decide it. Differences between set-ups are taken in each replication, because
replications share their random numbers.

A claim holds if all its comparisons hold, and does not hold if at least one fails; otherwise it is
not decided. The numbers of comparisons that hold, are not decided and fail are shown beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from marqueue.papers.claims import Check, Claim
from marqueue.papers.quantity import Quantities
from marqueue.reports import Verdict
from marqueue.reports.builder import OUTCOMES
from marqueue.statistics.estimates import Estimate

Decision = Literal["holds", "open", "fails"]

#: The order of counts beside a verdict.
COUNTED = "hold / not decided / fail"


@dataclass(frozen=True)
class Finding:
    """The result of one check at one place."""

    decision: Decision
    distance: float
    """Distance from the mean to the nearer bound, relative to the compared values; negative outside
    the permitted range."""
    measured: str
    in_words: str
    """The same with the quantity, its unit and the place as text."""


@dataclass(frozen=True)
class Judgement:
    """A claim as judged under one choice of readings."""

    claim: Claim
    findings: Sequence[Finding]
    criteria: Sequence[str]
    """The checks as sentences."""

    @cached_property
    def outcome(self) -> Decision:
        """The outcome over all comparisons."""
        return together([each.decision for each in self.findings])

    @property
    def counts(self) -> Counter[Decision]:
        """The number of comparisons by decision."""
        return Counter(each.decision for each in self.findings)

    @property
    def counted(self) -> str:
        """The numbers of comparisons in the order of :data:`COUNTED`."""
        return " / ".join(str(self.counts[each]) for each in ("holds", "open", "fails"))

    @property
    def measured(self) -> str:
        """The finding least favourable to the claim."""
        return self._worst.measured

    @property
    def in_words(self) -> str:
        """The same as a self-contained text."""
        n = len(self.findings)
        return self._worst.in_words if n == 1 else f"{self._worst.in_words} (worst of {n})"

    @property
    def note(self) -> str:
        """The criterion and its reason."""
        more = " The comparison shown is the least favourable." if len(self.findings) > 1 else ""
        return f"Criterion: {'; '.join(self.criteria)}. {self.claim.reason}{more}"

    @property
    def verdict(self) -> Verdict:
        """The verdict as reports show it."""
        claim = self.claim
        return Verdict(
            claim=claim.says,
            source=claim.where,
            expected=claim.paper,
            measured=self.measured,
            outcome=self.outcome,
            note=self.note,
            counts=self.counted,
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "verdict": self.outcome,
            "hold": self.counts["holds"],
            "open": self.counts["open"],
            "fail": self.counts["fails"],
            "measured": self.measured,
        }

    @cached_property
    def _worst(self) -> Finding:
        return min(self.findings, key=_worst_first)


def counted(under: Mapping[str, Any]) -> str:
    """The numbers of comparisons of a verdict in a summary, in the order of :data:`COUNTED`."""
    return " / ".join(str(under[of]) for of in ("hold", "open", "fail"))


def judge(claim: Claim, quantities: Quantities, confidence: float = 0.95) -> Judgement:
    """Judges a claim by intervals of this confidence."""
    findings = [each for check in claim.check for each in find(check, quantities, confidence)]
    criteria = list(dict.fromkeys(check.criterion(quantities) for check in claim.check))
    return Judgement(claim, findings, criteria)


def find(check: Check, quantities: Quantities, confidence: float) -> list[Finding]:
    """One finding for each place. Estimates are shown with their 95% intervals, whatever the
    confidence of the decision."""
    out = []
    for place in check.places(quantities):
        estimate = Estimate.of(check.judged(quantities, place), confidence)
        size = max(abs(each.mean) for _, each in check.shown(quantities, place)) or 1.0
        out.append(
            Finding(
                decide(estimate, check.permitted),
                _distance(estimate.mean, check.permitted) / size,
                _measured(check, quantities, place),
                _in_words(check, quantities, place),
            )
        )
    return out


def decide(estimate: Estimate, permitted: tuple[float, float]) -> Decision:
    """The outcome for an interval; a mean without an interval decides alone."""
    if estimate.n == 0:
        return "open"
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    if permitted[0] <= low and high <= permitted[1]:
        return "holds"
    if high < permitted[0] or permitted[1] < low:
        return "fails"
    return "open"


def together(decisions: Sequence[Decision]) -> Decision:
    """The outcome of a claim from its comparisons."""
    return min(decisions, key=ORDER.index)


#: From the least favourable to a claim.
ORDER: tuple[Decision, ...] = ("fails", "open", "holds")


def _worst_first(finding: Finding) -> tuple[int, float]:
    return ORDER.index(finding.decision), finding.distance


def _distance(value: float, permitted: tuple[float, float]) -> float:
    return min(value - permitted[0], permitted[1] - value)


def _measured(check: Check, quantities: Quantities, place: int) -> str:
    shown = check.shown(quantities, place)
    values = ", ".join(f"{called} {estimate}".strip() for called, estimate in shown)
    return check.where(quantities, place) + values


#: Nouns for the variables of sweeps.
COUNTED_BY = {"N": "flows"}


def _in_words(check: Check, quantities: Quantities, place: int) -> str:
    of = quantities[check.quantity]
    unit = f" [{of.unit}]" if of.unit else ""
    at = ""
    if check.where(quantities, place):
        value, counted = f"{of.places[place]:g}", COUNTED_BY.get(of.variable)
        at = f" with {value} {counted}" if counted else f" at {of.variable} = {value}"
    shown = check.shown(quantities, place)
    values = ", ".join(f"{called or of.of} {estimate}".strip() for called, estimate in shown)
    return f"{of.label}{unit}{at}: {values}"


@dataclass(frozen=True)
class Overall:
    """A claim over all choices of readings under which it was judged."""

    by: Mapping[str, Decision]
    """The outcome under each choice, by its label."""

    @property
    def outcome(self) -> Literal["holds", "depends", "open", "fails"]:
        """``holds`` under all choices, ``depends`` if it holds under some, ``fails`` under all, and
        otherwise ``open``: it holds under none and is not decided under at least one."""
        if not self.under:
            return "fails" if set(self.by.values()) == {"fails"} else "open"
        return "holds" if len(self.under) == len(self.by) else "depends"

    @property
    def under(self) -> list[str]:
        """The choices under which it holds."""
        return [label for label, outcome in self.by.items() if outcome == "holds"]

    @property
    def text(self) -> str:
        """In words; of a single choice, its outcome and name."""
        if len(self.by) == 1:
            [(label, outcome)] = self.by.items()
            return f"{OUTCOMES[outcome]} under {label}"
        return {
            "holds": "holds under all",
            "depends": f"holds under {', '.join(self.under)}",
            "fails": "holds under none",
            "open": OUTCOMES["open"],
        }[self.outcome]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"verdict": self.outcome, "under": self.under, "text": self.text}
