"""Verdicts, computed from claims and measured quantities; never stored.

At each place a check holds if the whole 95% confidence interval lies within the permitted range and
fails if the whole interval lies outside. Otherwise it is open, and more replications would decide
it. Differences between set-ups are taken in each replication, because replications share their
random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from marqueue.papers.claims import Check, Claim
from marqueue.papers.quantity import Quantities
from marqueue.reports import Outcome, Verdict
from marqueue.statistics.estimates import Estimate


@dataclass(frozen=True)
class Finding:
    """The result of one check at one place."""

    outcome: Outcome
    distance: float
    """Distance from the mean to the nearer bound, relative to the compared values; negative outside
    the permitted range."""
    measured: str
    in_words: str
    """The same with the quantity, its unit and the place as text."""


def judge(claim: Claim, quantities: Quantities) -> Verdict:
    """The verdict on a claim, with the finding least favourable to it."""
    findings = _findings(claim, quantities)
    return Verdict(
        claim=claim.says,
        source=claim.where,
        expected=claim.paper,
        measured=min(findings, key=_worst_first).measured,
        outcome=together([each.outcome for each in findings]),
        note=_note(claim, quantities, findings),
    )


def least_favourable(claim: Claim, quantities: Quantities) -> str:
    """The finding least favourable to a claim, as a self-contained text."""
    findings = _findings(claim, quantities)
    worst = min(findings, key=_worst_first).in_words
    return worst if len(findings) == 1 else f"{worst} (worst of {len(findings)})"


def _findings(claim: Claim, quantities: Quantities) -> list[Finding]:
    return [each for check in claim.check for each in find(check, quantities)]


def find(check: Check, quantities: Quantities) -> list[Finding]:
    """One finding for each place."""
    out = []
    for place in check.places(quantities):
        estimate = Estimate.of(check.judged(quantities, place))
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


def decide(estimate: Estimate, permitted: tuple[float, float]) -> Outcome:
    """The outcome for an interval; a mean without an interval decides alone."""
    if estimate.n == 0:
        return "open"
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    if permitted[0] <= low and high <= permitted[1]:
        return "holds"
    if high < permitted[0] or permitted[1] < low:
        return "fails"
    return "open"


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a claim from the outcomes of its parts."""
    kinds = set(outcomes)
    if len(kinds) == 1:
        return outcomes[0]
    return "partly" if "holds" in kinds else "fails"


ORDER: tuple[Outcome, ...] = ("fails", "open", "holds")


def _worst_first(finding: Finding) -> tuple[int, float]:
    return ORDER.index(finding.outcome), finding.distance


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


def _note(claim: Claim, quantities: Quantities, findings: Sequence[Finding]) -> str:
    criteria = "; ".join(dict.fromkeys(check.criterion(quantities) for check in claim.check))
    note = f"Criterion: {criteria}. {claim.reason}"
    if len(findings) > 1:
        counts = {o: sum(f.outcome == o for f in findings) for o in ORDER}
        parts = ", ".join(f"{counts[o]} {said}" for o, said in COUNTED.items() if counts[o])
        note += f" Of {len(findings)} comparisons {parts}; the one shown is the least favourable."
    return note


COUNTED: dict[Outcome, str] = {
    "holds": "hold",
    "open": "are not decided",
    "fails": "do not hold",
}
