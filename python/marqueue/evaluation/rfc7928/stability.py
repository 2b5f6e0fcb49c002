"""Stability under congestion levels, varying load and varying capacity (RFC 7928, section 8.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from marqueue.evaluation.case import Case, Effort
from marqueue.evaluation.measures import (
    Measure,
    delay,
    delay_p99,
    fairness,
    goodput,
    of_link,
    synchronization,
)
from marqueue.evaluation.rfc7928 import limits, setup
from marqueue.evaluation.rfc7928.senders import one, unrecorded
from marqueue.scenario import Aqm, Scenario

SYNCHRONIZED = synchronization("bulk", setup.RTT / 1e3)


def level_scenario(name: str, title: str, aqm: Aqm, effort: Effort) -> Scenario:
    """Bulk flows that make a congestion level under drop-tail."""
    return setup.network(title, level_about(name), aqm, [setup.bulk("bulk", setup.level(name))],
                         effort)  # fmt: skip


def level_about(name: str) -> str:
    """The level in words."""
    return (
        f"{setup.level(name)} Reno flows: N = S sqrt(l / 0.76) for l = {setup.LEVELS[name]:.1%} "
        "and "
        f"S = {setup.SUM} packets."
    )


def _level(name: str, number: int) -> Case[Aqm]:
    return one(
        name, f"8.2.{number}", f"{name.capitalize()} congestion", level_about(name),
        partial(level_scenario, name),
        [
            limits.shorter(), limits.keeps(), limits.less_loss_than_law(),
            limits.no_more_synchronized(), limits.as_fair(),
        ],
        [SYNCHRONIZED, fairness("bulk")],
    )  # fmt: skip


PHASE = 20.0
"""Length of a phase, s (8.2.5)."""
ROUNDS = 3, 1
"""How often the phases come in the full and in the quick form, after a first round of warm-up of
phase I alone."""

VARYING_LOAD = (
    "Phases of 20 s of mild, medium and heavy congestion: {} flows, then {}, then {}. The verdicts "
    "are of the first round after the warm-up."
)


def _varying_load(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    mild, medium, heavy = (setup.level(name) for name in setup.LEVELS)
    begin, rounds = setup.WARMUP, effort.pick(*ROUNDS)
    traffic = [setup.bulk("mild", mild)]
    for i in range(rounds):
        start = begin + 3 * PHASE * i
        more = (("medium", medium - mild, PHASE), ("heavy", heavy - medium, 2 * PHASE))
        for name, count, after in more:
            traffic.append(
                setup.bulk(
                    f"{name} {i + 1}", count,
                    start=f"{start + after:g} s", stop=f"{start + 3 * PHASE:g} s",
                )
            )  # fmt: skip
    return setup.network(
        title, _load_about(), aqm, traffic, effort,
        seconds=(3 * PHASE * ROUNDS[0], 3 * PHASE * ROUNDS[1]), trace=False,
        cuts=[begin + PHASE * (i + 1) for i in range(3 * rounds - 1)],
    )  # fmt: skip


def _load_about() -> str:
    return VARYING_LOAD.format(*(setup.level(name) for name in setup.LEVELS))


LOAD_PHASES = [f"phase {name}" for name in ("I", "II", "III")]


def _phased(phases: Sequence[str]) -> list[Measure]:
    """Measures of each phase: windows 1, 2, ..., because 0 is the warm-up."""
    return [
        of(phase=phase, window=window)
        for window, phase in enumerate(phases, 1)
        for of in (delay, delay_p99, goodput, _loss)
    ]  # fmt: skip


def _loss(phase: str, window: int) -> Measure:
    return of_link("loss_ratio", "Loss ratio", window=window, phase=phase)


FAST, SLOW = 100, 10
"""Capacities (8.2.6), Mbit/s."""
FLOWS = setup.level("mild")
CAPACITY = (
    f"{FLOWS} Reno flows, and a capacity that is {FAST} Mbit/s and {SLOW} Mbit/s in turn, for {{}} "
    "each. The buffer is the bandwidth-delay product of the larger one."
)
CAPACITY_PHASES = ["phase I", "phase II", "phase I again"]
"""The first phase I is there from the start of the run; the step up is before the second."""


def _changes(begin: float, end: float, phase: float) -> list[dict[str, str]]:
    count = round((end - begin) / phase)
    return [
        {"at": f"{begin + phase * i:.1f} s", "rate": f"{(FAST, SLOW)[i % 2]} Mbit/s"}
        for i in range(1, count)
    ]


def _varying_capacity(phase: float, seconds: tuple[float, float], title: str, aqm: Aqm,
                      effort: Effort) -> Scenario:  # fmt: skip
    begin = setup.WARMUP
    end = begin + effort.pick(*seconds)
    cuts = [begin + PHASE * i for i in range(1, round((end - begin) / PHASE))]
    return setup.network(
        title, CAPACITY.format(f"{phase:g} s"), aqm, [setup.bulk("bulk", FLOWS)], effort,
        seconds=seconds, rate=FAST, buffer=setup.pipe(FAST, setup.RTT), trace=False,
        queue={"schedule": _changes(begin, end, phase)}, cuts=cuts if phase == PHASE else (),
    )  # fmt: skip


def cases() -> Iterator[Case[Aqm]]:
    """The cases of section 8.2."""
    for number, name in enumerate(setup.LEVELS, 2):
        yield _level(name, number)
    yield unrecorded(
        "varying-load", "8.2.5", "Varying congestion level", _load_about(), _varying_load,
        [of(f"{measure}, {phase}") for phase in LOAD_PHASES
         for of, measure in ((limits.shorter, "delay_mean"), (limits.keeps, "goodput"))],
        _phased(LOAD_PHASES),
    )  # fmt: skip
    yield unrecorded(
        "varying-capacity-long", "8.2.6", "Varying capacity, phases of 20 s",
        CAPACITY.format("20 s"), partial(_varying_capacity, PHASE, (120.0, 60.0)),
        [
            limits.shorter("delay_mean, phase II"),
            limits.keeps("goodput, phase II"),
            limits.after_a_step_up("goodput, phase I again"),
        ],
        _phased(CAPACITY_PHASES),
    )  # fmt: skip
    yield unrecorded(
        "varying-capacity-short", "8.2.6", "Varying capacity, phases of 100 ms",
        CAPACITY.format("100 ms"), partial(_varying_capacity, 0.1, (120.0, 30.0)),
        [limits.shorter(), limits.under_fast_changes()],
    )  # fmt: skip
