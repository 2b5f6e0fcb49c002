"""Comparison with ns-2 on the same dumbbells."""

from __future__ import annotations

from functools import partial

from marqueue import ns2
from marqueue.ns2.matrix import EXPLAINED, MATRIX, QUICK
from marqueue.ns2.simulator_output import (
    BECAUSE,
    SimulatorOutput,
    marqueue_output,
    ns2_output,
    tolerances,
)
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

UNITS = {"queue": "packets", "marks": "packets"}
NAMES = {"tcp": "share of TCP", "udp": "share of UDP"}


def compare(case: ns2.Case, here: SimulatorOutput, there: SimulatorOutput) -> list[Check]:
    """The figures of one window, except those that are zero in both."""
    return [
        Check(
            f"{case.name}: {NAMES.get(figure, figure)}",
            "ns-2",
            getattr(here, figure),
            getattr(there, figure),
            most,
            BECAUSE[figure],
            unit=UNITS.get(figure, ""),
            explained=EXPLAINED.get(case.name, ""),
        )
        for figure, most in tolerances(case, there).items()
        if getattr(here, figure).mean or getattr(there, figure).mean
    ]


def checks(bench: TaskRunner, case: ns2.Case, seeds: int) -> list[Check]:
    """The checks of one dumbbell after its start-up."""
    mine = marqueue_output(case, bench.run(case.scenario(seeds)))
    its = ns2_output([bench.run_ns2(case, seed) for seed in range(1, seeds + 1)])
    both = list(zip(mine, its, strict=True))[1:]
    return [check for here, there in both for check in compare(case, here, there)]


def tasks(effort: Effort) -> list[Task]:
    """A task per dumbbell; ns-2 takes nearly all of the time."""
    seeds = 6
    cases = [case for case in MATRIX if effort is Effort.FULL or case.name in QUICK]
    return [
        Task(case.name, 5.4e-10 * case.offered * case.duration * seeds,
             partial(checks, case=case, seeds=seeds))
        for case in cases
    ]  # fmt: skip


def missing() -> str | None:
    """The reason why ns-2 cannot run, with how to install it."""
    if ns2.installed():
        return None
    return f"no program ns, expected ns-2.35: Debian's package {ns2.PACKAGE}"


BESIDE_NS2 = Rung(
    "ns2",
    "ns-2.35 on the same dumbbells",
    "Both sides with as many seeds each, which share nothing; what the two call differently is in "
    "marqueue/ns2/case.py.",
    tasks,
    missing,
)
