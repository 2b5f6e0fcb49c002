"""Claims as data, and verdicts on small numbers."""

import numpy as np
import pytest
from pydantic import ValidationError

from marqueue.papers.claims import Claim, Claims
from marqueue.papers.quantity import Quantity, single, stepped
from marqueue.papers.verdict import Decision, Overall, decide, judge, together
from marqueue.statistics.estimates import Estimate

QUANTITIES = {
    "narrow": single("Utilization", "a", [0.979, 0.980, 0.981]),
    "wide": single("Utilization", "b", [0.90, 0.98, 1.06]),
    "rising": Quantity(
        "Queue", "a", np.array([[1, 2, 3], [1, 2, 3.01]]), "packets", "N", (20, 40, 60)
    ),
    "bent": Quantity(
        "Queue", "b", np.array([[2, 3, 1], [2, 3, 1.0]]), "packets", "N", (20, 40, 60)
    ),
}


def claim(*checks: dict[str, object]) -> Claim:
    return Claim.model_validate(
        {
            "id": "a-claim",
            "experiment": "1",
            "where": "Table I",
            "says": "Something.",
            "paper": "1",
            "reason": "Because.",
            "check": checks,
        }
    )


VERDICTS = {
    "within the tolerance": (
        "holds",
        {"kind": "value", "quantity": "narrow", "expected": 0.98, "tolerance": 0.01},
    ),
    "outside the tolerance": (
        "fails",
        {"kind": "value", "quantity": "narrow", "expected": 0.95, "tolerance": 0.01},
    ),
    "too wide to tell": (
        "open",
        {"kind": "value", "quantity": "wide", "expected": 0.98, "tolerance": 0.01},
    ),
    "below the bound": ("holds", {"kind": "at-most", "quantity": "narrow", "bound": 0.99}),
    "above the bound": ("fails", {"kind": "at-most", "quantity": "narrow", "bound": 0.9}),
    "above the least": ("holds", {"kind": "at-least", "quantity": "narrow", "bound": 0.9}),
    "below the least": ("fails", {"kind": "at-least", "quantity": "narrow", "bound": 0.99}),
    "one place of three": (
        "holds",
        {"kind": "at-most", "quantity": "rising", "bound": 1, "at": [20]},
    ),
    "some places of three": ("fails", {"kind": "at-most", "quantity": "rising", "bound": 2}),
    "less at some places": ("fails", {"kind": "below", "quantity": "rising", "other": "bent"}),
    "less with slack": (
        "holds",
        {"kind": "below", "quantity": "bent", "other": "rising", "slack": 1},
    ),
    "never less": (
        "fails",
        {"kind": "below", "quantity": "bent", "other": "rising", "at": [20, 40]},
    ),
    "rises": ("holds", {"kind": "rising", "quantity": "rising"}),
    "does not fall": ("fails", {"kind": "falling", "quantity": "rising"}),
    "rises and falls": ("fails", {"kind": "rising", "quantity": "bent"}),
}


@pytest.mark.parametrize(("outcome", "check"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts_on_small_numbers(outcome: str, check: dict[str, object]):
    assert judge(claim(check), QUANTITIES).outcome == outcome


def test_all_checks_of_a_claim_must_hold():
    holds = VERDICTS["within the tolerance"][1]
    fails = VERDICTS["outside the tolerance"][1]
    assert judge(claim(holds, holds), QUANTITIES).outcome == "holds"
    assert judge(claim(holds, fails), QUANTITIES).outcome == "fails"
    is_open = VERDICTS["too wide to tell"][1]
    assert judge(claim(holds, is_open), QUANTITIES).outcome == "open"
    judged = judge(claim(holds, is_open, fails, fails), QUANTITIES)
    assert (judged.outcome, judged.counted) == ("fails", "1 / 1 / 2")


def test_a_verdict_shows_the_least_favourable_finding():
    verdict = judge(claim(VERDICTS["some places of three"][1]), QUANTITIES)
    assert verdict.measured.startswith("N 60: 3.0")
    assert verdict.counted == "2 / 0 / 1"


def test_intervals_decide_and_single_values_by_themselves():
    permitted = (0.0, 1.0)
    assert decide(Estimate(0.5, 0.4, 3), permitted) == "holds"
    assert decide(Estimate(0.5, 0.6, 3), permitted) == "open"
    assert decide(Estimate(1.5, 0.4, 3), permitted) == "fails"
    assert decide(Estimate(0.5, None, 1), permitted) == "holds"
    assert decide(Estimate.of([]), permitted) == "open"
    assert together(["holds", "open"]) == "open"
    assert together(["fails", "open", "holds"]) == "fails"


def test_a_higher_confidence_decides_less_and_shows_the_same():
    check = {"kind": "at-most", "quantity": "narrow", "bound": 0.983}
    often, seldom = (judge(claim(check), QUANTITIES, each) for each in (0.95, 0.99))
    assert (often.outcome, seldom.outcome) == ("holds", "open")
    assert often.measured == seldom.measured == "0.980 ± 0.002"


@pytest.mark.parametrize(
    ("outcomes", "overall", "text"),
    [
        (["holds", "holds"], "holds", "holds under all"),
        (["fails", "holds", "open"], "depends", "holds under x=b"),
        (["fails", "fails"], "fails", "holds under none"),
        (["fails", "open"], "open", "not decided"),
        (["fails"], "fails", "does not hold under main"),
    ],
)
def test_a_claim_over_all_readings(outcomes: list[Decision], overall: str, text: str):
    over = Overall(dict(zip(("main", "x=b", "x=c"), outcomes, strict=False)))
    assert (over.outcome, over.text) == (overall, text)


def test_differences_are_taken_replication_by_replication():
    # Each pair differs by 1 or a little more, while both spread over 100.
    first = np.array([[0.0], [50], [100]])
    pair = {
        "a": Quantity("Queue", "a", first),
        "b": Quantity("Queue", "b", first + np.array([[1.0], [1.2], [1]])),
    }
    check = {"kind": "below", "quantity": "a", "other": "b"}
    assert judge(claim(check), pair).outcome == "holds"


@pytest.mark.parametrize(
    "change",
    [{"kind": "equal"}, {"tolerance": 0}, {"quantity": ""}, {"bound": 1.0}],
    ids=["unknown kind", "no tolerance", "no quantity", "key of another kind"],
)
def test_an_invalid_check_is_refused(change: dict[str, object]):
    with pytest.raises(ValidationError):
        claim({**VERDICTS["within the tolerance"][1], **change})


def test_two_claims_with_one_id_are_refused():
    one = claim(VERDICTS["within the tolerance"][1]).model_dump()
    with pytest.raises(ValidationError, match="a-claim"):
        Claims.model_validate({"claim": [one, one]})


def test_series_in_longer_steps():
    t, total = stepped((np.arange(1, 8) / 10, np.arange(14.0).reshape(2, 7)), 0.3, np.sum)
    assert t == pytest.approx([0.3, 0.6])
    assert total.tolist() == [[3, 12], [24, 33]]


def test_a_measurement_names_its_unit_and_its_place():
    check = {"kind": "below", "quantity": "queue.a", "other": "queue.b"}
    claim = Claim.model_validate(
        {
            "id": "a",
            "experiment": "1",
            "where": "Fig. 1",
            "says": "A's queue is the shorter.",
            "paper": "A < B",
            "reason": "Means.",
            "check": [check],
        }
    )
    places = (20.0, 40.0)
    quantities = {
        f"queue.{of}": Quantity(
            "Queue, mean", of.upper(), np.array([values]), "packets", "N", places
        )
        for of, values in {"a": (1.0, 9.0), "b": (5.0, 3.0)}.items()
    }
    shown = judge(claim, quantities).in_words
    assert shown == "Queue, mean [packets] with 40 flows: A 9, B 3 (worst of 2)"
