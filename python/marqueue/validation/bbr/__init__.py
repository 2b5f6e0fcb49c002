"""The test cases of draft-ietf-ccwg-bbr, "BBR Example Test Cases" (working group's text of commit
4ce5e87), in their order, as scenarios.

Each case is played with several seeds, which draw how long BBR waits between probes. Where a case
changes the path as a state begins, a first run finds when that is; up to then both runs are the
same. Where a case asks for packet loss, other traffic fills the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from marqueue.validation.bbr import changes, probing, startup
from marqueue.validation.bbr.path import Path
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

Case = Callable[[TaskRunner, Path, Sequence[int]], list[Check]]

CASES: dict[str, Case] = {
    "1 plateau in Startup": startup.plateau,
    "2 loss in Startup, application-limited": startup.loss,
    "3 Drain by inflight": startup.drain_by_inflight,
    "4 Drain by time": startup.drain_limit,
    "5 plateau in PROBE_UP": probing.up_plateau,
    "6, 7 PROBE_UP, application-limited": probing.up_limited,
    "7 Startup, application-limited": startup.patient,
    "8 PROBE_DOWN by inflight": probing.down_inflight,
    "9 PROBE_DOWN by time": probing.down_time,
    "10 PROBE_RTT": probing.probe_rtt,
    "11 no PROBE_RTT after a pause": probing.skip_probe_rtt,
    "12 aggregation in Startup": startup.aggregated,
    "13 aggregation in cruise": probing.aggregated,
    "14 less than a packet": probing.few_packets,
    "15 ten times the bandwidth": changes.increase,
    "15 slope of inflight_longterm": changes.slope,
    "16 a tenth of the bandwidth": changes.decrease,
    "17 policer": changes.policer,
    "18 spurious fast recovery": changes.reordering,
    "19 spurious timeout": changes.late,
    "20 PROBE_RTT in Startup": startup.probe_rtt,
    "21 loss in PROBE_UP": changes.loss_in_up,
    "22 a pause in PROBE_REFILL": probing.refill_limited,
}
"""By the number of the case."""

BOTH = (
    "1 plateau in Startup",
    "3 Drain by inflight",
    "7 Startup, application-limited",
    "10 PROBE_RTT",
    "11 no PROBE_RTT after a pause",
    "14 less than a packet",
    "20 PROBE_RTT in Startup",
)
"""Cases that apply to version 1 too. It has no bounds by loss, no phases of ProbeBW by name, and no
room for aggregation."""

PATHS = (Path(), Path(rate=50.0, rtt=0.01, buffer=167), Path(rate=2.0, rtt=0.2, buffer=134))
"""Of cases 1 and 3, with four bandwidth-delay products of buffer each."""
EVERYWHERE = ("1 plateau in Startup", "3 Drain by inflight")
RUNS = 2.5
"""Runs of 20 s a case and seed, about."""


def _play(case: Case, path: Path, seeds: Sequence[int], bench: TaskRunner) -> list[Check]:
    return case(bench, path, seeds)


VERSIONS = ("bbr3", "bbr1")


def applicable(control: str) -> list[str]:
    """The cases that apply to a version."""
    return [name for name in CASES if control == "bbr3" or name in BOTH]


def tasks(
    effort: Effort,
    versions: Sequence[str] = VERSIONS,
    only: Sequence[str] = tuple(CASES),
    first_seed: int = 1,
) -> list[Task]:
    """A task a case, version and path."""
    seeds = range(first_seed, first_seed + effort.pick(8, 5))
    played = [
        (name, replace(path, control=control))
        for name in only
        for control in versions
        if name in applicable(control)
        for path in (effort.pick(PATHS, PATHS[:1]) if name in EVERYWHERE else PATHS[:1])
    ]
    return [
        Task(f"{name}, {path.control}", RUNS * path.cost * len(seeds),
             partial(_play, CASES[name], path, seeds))
        for name, path in played
    ]  # fmt: skip


BBR = Rung(
    "bbr",
    "BBR's test cases",
    "One BBR flow on 10 Mbit/s and 40 ms, or as stated. The cases are those of "
    "draft-ietf-ccwg-bbr, the states those of the sender's trace.",
    tasks,
)
