"""Comparison with what ns-3 measured on the same dumbbells."""

from __future__ import annotations

from functools import partial

from marqueue.ns3.case import Case
from marqueue.ns3.matrix import EXPLAINED, MATRIX, QUICK, UNEXPLAINED
from marqueue.ns3.measured import (
    BECAUSE,
    UNITS,
    Figures,
    marqueue_figures,
    ns3_figures,
    tolerances,
)
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

SEEDS = 16
"""Here; ns-3 has four, or eight and more where four decide nothing."""


def compare(case: Case, here: Figures, there: Figures) -> list[Check]:
    """The six figures, except those that are zero in both. Four seeds of ns-3 decide no finer than
    twice the tolerance."""
    return [
        Check(
            f"{case.name}: {figure}",
            "ns-3",
            here[figure],
            there[figure],
            most,
            BECAUSE[figure],
            resolution=2 * most,
            unit=UNITS[figure],
            explained=EXPLAINED.get(case.name, ""),
            unexplained=UNEXPLAINED.get(case.name, ""),
        )
        for figure, most in tolerances(case, there).items()
        if here[figure].mean or there[figure].mean
    ]


def checks(bench: TaskRunner, case: Case, seeds: int = SEEDS) -> list[Check]:
    """The checks of one dumbbell after its start-up."""
    here = marqueue_figures(bench.run(case.scenario(seeds)))
    return compare(case, here, ns3_figures(case))


def tasks(effort: Effort) -> list[Task]:
    """A task per dumbbell."""
    return [
        Task(case.name, 1e-10 * case.rate * case.duration * SEEDS, partial(checks, case=case))
        for case in MATRIX
        if effort is Effort.FULL or case.name in QUICK
    ]


BESIDE_NS3 = Rung(
    "ns3",
    "ns-3.44 on the same dumbbells",
    "Four to twelve seeds of ns-3 and 16 here, which share nothing. What ns-3 measured is "
    "stored (make reference-ns3); what the two call differently is in marqueue/ns3/case.py.",
    tasks,
)
