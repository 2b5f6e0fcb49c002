"""Comparison of TCP under preset ``linux`` with a Linux kernel on the same dumbbells.

The kernel runs in the simulation (docs/linux-hosts.md), so queue and link are the same program on
both sides, and what differs is TCP. Tolerances (:data:`TOLERANCES`) were set before the first
comparison and are functions of what the kernel measured.

Replications are pairs: a seed gives both sides the same start times and, until they part, the same
losses. The interval is that of the differences of the pairs. Windows at given times are compared
where nothing is random, because elsewhere they are where the latest loss left them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from marqueue.errors import MarqueueError
from marqueue.kernels import find
from marqueue.results import Result
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.validation import linux_qdiscs
from marqueue.validation.check import Check
from marqueue.validation.linux_cases import CASES, KERNEL, RATE, SAMPLE, Case
from marqueue.validation.linux_differences import EXPLAINED
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

QUICK = ("cubic, droptail", "reno, codel ecn", "40 packets, droptail")
"""The cases of the quick form."""
PACKET_COST = 7e-5
"""CPU time of a packet of a kernel's flow, s."""
TIMES = 0.3, 0.5, 1.0, 4.0
"""When windows are compared, s: in slow start, after it, and in congestion avoidance."""


@dataclass(frozen=True)
class Tolerance:
    """How far two figures may be apart."""

    share: float
    """Of what the kernel measured."""
    least: float
    """In the unit of the figure."""
    because: str
    unit: str = ""

    def of(self, there: Estimate) -> float:
        """The larger of the two."""
        return max(self.share * abs(there.mean), self.least)


WINDOW = Tolerance(
    0.2, 2.0,
    "20 %, at least 2 packets: one acknowledgement of two packets opens the window by as much.",
    "packets",
)  # fmt: skip

TOLERANCES: Mapping[str, Tolerance] = MappingProxyType(
    {
        "goodput": Tolerance(
            0.02, 0.05, "2 %, at least 0.05 Mbit/s: as for utilization.", "Mbit/s"
        ),
        "utilization": Tolerance(
            0.0, 0.02, "0.02: a window more or less in a cycle of one or two seconds."
        ),
        "mean queue": Tolerance(
            0.15, 2.0,
            "15 %, at least 2 packets: an acknowledgement of two packets sends two at once.",
            "packets",
        ),
        "loss ratio": Tolerance(
            0.25, 5e-4,
            "25 %, at least 0.0005: losses are as the inverse square of the window (12 % there "
            "are 25 % here), and 0.0005 is one loss in 2.4 s.",
        ),
        "marks": Tolerance(0.25, 5e-4, "25 %, at least 0.0005: as for losses."),
        "retransmissions": Tolerance(
            0.25, 1e-3,
            "25 %, at least 0.001 of what was sent: as for losses; a first overshoot of some "
            "packets is a part of them.",
        ),
        "mean cwnd": Tolerance(
            0.1, 1.0,
            "10 %, at least 1 packet: the kernel counts whole packets.",
            "packets",
        ),
        **{f"cwnd at {t:g} s": WINDOW for t in TIMES},
        "completion": Tolerance(
            0.05, 10.0,
            "5 %, at least 10 ms: a tick of the kernel's timers.",
            "ms",
        ),
        "Jain's index": Tolerance(0.0, 0.05, "0.05: as in the comparison with ns-3."),
    }
)  # fmt: skip
"""By figure."""

Read = Callable[[Result], Floats]


def _link(figure: str) -> Read:
    return lambda result: result.link().values(figure)


def _goodput(result: Result) -> Floats:
    return np.array([s.delivered.sum() * 8e-6 / (s.end - s.begin) for s in result.flow_sets()])


def _completion(result: Result) -> Floats:
    """Mean completion time, ms."""
    return np.array([1e3 * s.completion_times.mean() for s in result.flow_sets()])


def _retransmissions(result: Result) -> Floats:
    """Retransmitted packets by sent ones, over the whole run."""
    sets = result.flow_sets()
    return np.array([float(s.totals["retransmits"]) / float(s.totals["sent"]) for s in sets])


def _mean_cwnd(result: Result) -> Floats:
    return np.array([each.total.mean() for each in result.cwnds(group="flows")])


def _cwnd_at(t: float, result: Result) -> Floats:
    table = result.tables["cwnd"]
    there = np.abs(table["t"].to_numpy() - t) < SAMPLE / 10
    return np.asarray(table["sum"].to_numpy()[there], dtype=float)


def _jain(result: Result) -> Floats:
    return np.array([x.sum() ** 2 / (len(x) * (x**2).sum()) for x in
                     (s.long_rates for s in result.flow_sets())])  # fmt: skip


def readings(case: Case) -> dict[str, Read]:
    """What is compared in a case."""
    if case.finite:
        # Where losses are imposed, they set the retransmissions.
        alone = {"retransmissions": _retransmissions} if case.replications == 1 else {}
        return {"completion": _completion, **alone}
    read: dict[str, Read] = {
        "goodput": _goodput,
        "utilization": _link("utilization"),
        "mean queue": _link("queue_mean"),
        "loss ratio": _link("loss_ratio"),
        "marks": _link("mark_ratio"),
        "retransmissions": _retransmissions,
        "mean cwnd": _mean_cwnd,
    }
    if case.flows > 1:
        return read | {"Jain's index": _jain}
    if case.replications > 1:
        return read
    return read | {f"cwnd at {t:g} s": partial(_cwnd_at, t) for t in TIMES}


def paired(here: Floats, there: Floats) -> tuple[Estimate, Estimate]:
    """Both means; the first has the half width of their difference, by pairs of replications."""
    ours, theirs = Estimate.of(here), Estimate.of(there)
    difference = Estimate.of(here - there)
    return replace(ours, half_width=difference.half_width), replace(theirs, half_width=None)


def compare(case: Case, here: Result, there: Result) -> Iterator[Check]:
    """The figures of a case, except those that are zero in both."""
    for figure, read in readings(case).items():
        ours, theirs = paired(read(here), read(there))
        if not ours.mean and not theirs.mean:
            continue
        tolerance = TOLERANCES[figure]
        most = tolerance.of(theirs)
        yield Check(
            f"{case.name}: {figure}",
            KERNEL,
            ours,
            theirs,
            most,
            tolerance.because,
            # So few replications decide no finer than twice the tolerance.
            resolution=2 * most,
            unit=tolerance.unit,
            explained=EXPLAINED.get((case.name, figure), ""),
        )


def checks(bench: TaskRunner, case: Case) -> list[Check]:
    """The checks of one case."""
    return list(compare(case, bench.run(case.scenario("model")), bench.run(case.scenario(KERNEL))))


def tasks(effort: Effort) -> list[Task]:
    """A task a case; the kernel takes nearly all of the time."""
    senders = [
        Task(case.name, PACKET_COST * RATE / 12e3 * case.duration * case.replications,
             partial(checks, case=case))
        for case in CASES
        if effort is Effort.FULL or case.name in QUICK
    ]  # fmt: skip
    return senders + linux_qdiscs.tasks(effort, PACKET_COST)


def missing() -> str | None:
    """The reason why there is no kernel, with how to build one."""
    try:
        find(KERNEL)
    except MarqueueError as error:
        return str(error)
    return None


BESIDE_LINUX = Rung(
    "linux",
    "preset linux and AQMs beside Linux 7.3",
    "A flow, or several, of the models and of a kernel through the same simulated dumbbell, with "
    "the same seeds and start times. Then AQMs here and the kernel's qdiscs at the same link.",
    tasks,
    missing,
)
