"""Experiments 1 and 2 of the AVQ paper compared with ns-2 on the same dumbbells.

``python -m benches.reference`` makes tests/reference/ns2; docs/validation.md explains
disagreements.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from benches.papers import EXPERIMENT_1, EXPERIMENT_1_UNTIED, EXPERIMENT_2, TIES

import marqueue
from marqueue.ns2 import simulator_output
from marqueue.ns2.case import Case
from marqueue.ns2.simulator_output import FIGURES, SimulatorOutput, disagreements
from marqueue.statistics.estimates import Estimate

REFERENCE = Path(__file__).parents[1] / "reference" / "ns2"


@cache
def reference(name: str) -> dict[str, Any]:
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def ns2_output(name: str, case: Case) -> list[SimulatorOutput]:
    return [
        SimulatorOutput(each["begin"], each["end"], **{f: Estimate.of([each[f]]) for f in FIGURES})
        for each in reference(name)[case.name]
    ]


def marqueue_output(case: Case) -> list[SimulatorOutput]:
    """Means over as many seeds as ns-2 had."""
    return simulator_output.marqueue_output(case, marqueue.run(case.scenario(replications=3)))


@pytest.mark.parametrize("case", EXPERIMENT_2, ids=lambda case: case.name)
def test_experiment_2(case: Case):
    _, here = marqueue_output(case)
    _, there = ns2_output("experiment2", case)
    assert disagreements(case, here, there) == []


def test_experiment_1():
    """From 20 s to 50 s packets of different classes arrive at the same instant, and ns-2's answer
    to who comes first changes with its clock: there the reference is the untied run."""
    tied, untied = (
        ns2_output("experiment1", EXPERIMENT_1),
        ns2_output("experiment1", EXPERIMENT_1_UNTIED),
    )
    for here, there, unbiased in list(
        zip(marqueue_output(EXPERIMENT_1), tied, untied, strict=True)
    )[1:]:
        expected = unbiased if here.span == "20-50 s" else there
        assert disagreements(EXPERIMENT_1, here, expected) == [], here.span


def test_experiment_1_untied():
    both = zip(
        marqueue_output(EXPERIMENT_1_UNTIED),
        ns2_output("experiment1", EXPERIMENT_1_UNTIED),
        strict=True,
    )
    for here, there in list(both)[1:]:
        assert disagreements(EXPERIMENT_1_UNTIED, here, there) == [], here.span


@pytest.mark.parametrize("case", [c for c in TIES if c.rate != 10_000_000], ids=lambda c: c.name)
def test_without_ties_the_two_agree(case: Case):
    """A part in a million of the rate, in either direction, decides who comes first."""
    assert disagreements(case, marqueue_output(case)[1], ns2_output("ties", case)[1]) == []
