"""Startup and Drain: the test cases of draft-ietf-ccwg-bbr that end before ProbeBW."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marqueue.statistics.estimates import Estimate
from marqueue.validation.bbr.path import Path, share
from marqueue.validation.check import Check
from marqueue.validation.rung import TaskRunner

DRAFT = "draft-ietf-ccwg-bbr, Example Test Cases"
ALWAYS = "Exact: the state machine decides, in every seed."
CLOSE = "0.02: 'close (i.e., within 2%)', the draft's own."
GAIN = "0.01: the draft rounds the gain to two digits; the pacing margin of 1% is counted in."
AGGREGATED = "0.05: the draft's 2%, and one packet of the 33 that a sample of a round trip counts."

#: Gain of pacing in Drain by version: BBR.DrainPacingGain, and 1/2.885 (draft-cardwell-00).
DRAIN_GAIN = {"bbr3": 0.5, "bbr1": 1 / 2.885}
MARGIN = 0.99
"""What BBR.PacingMarginPercent leaves of a rate."""

SLOW_APPLICATION = {"write": "4 packets", "every": "10 ms"}
"""Half of 10 Mbit/s."""


def plateau(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting STARTUP on Bandwidth Plateau."""
    bandwidths, counts, drains = [], [], []
    for seed in seeds:
        watch = replace(path, seconds=3.0 + 40 * path.rtt).watch(bench, seed)
        startup = watch.first("startup")
        last = startup.rows.stop
        bandwidths.append(float(watch.max_bw[last]) / path.bandwidth)
        counts.append(float(watch.full_bw_count[last]))
        drains.append(float(startup.following == "drain" and watch.full_bw_reached[last]))
    what = f"{path.control}, startup ends at a plateau, {path.rate:g} Mbit/s, {path.rtt:g} s"
    return [
        Check(f"{what}: max_bw, of the rate", f"{DRAFT}, 1", Estimate.of(bandwidths), 1.0, 0.02,
              CLOSE),
        Check(f"{what}: full_bw_count", f"{DRAFT}, 1", Estimate.of(counts), 3.0, 0.0, ALWAYS),
        Check(f"{what}: full_bw_reached, and Drain follows", f"{DRAFT}, 1", Estimate.of(drains),
              1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def loss(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting STARTUP on Loss When Application-Limited: a fifth of the packets is lost, 16 of
    the 80 of a round trip, so that there are more than six ranges."""
    lossy = replace(path, rtt=0.2, seconds=4.0, link={"loss": "20%"}, application=SLOW_APPLICATION)

    def holds(seed: int) -> bool:
        watch = lossy.watch(bench, seed)
        startup = watch.first("startup")
        row = startup.rows.stop - 1
        # Drain and PROBE_DOWN are over in the same acknowledgement if little is in flight. A
        # plateau has not been counted: the application limits the samples.
        return (
            startup.following in ("drain", "probe-bw-down", "probe-bw-cruise")
            and bool(watch.full_bw_reached[row + 1])
            and watch.full_bw_count[row] < 3
        )

    return [
        Check("bbr3, startup ends by losses, though limited by the application", f"{DRAFT}, 2",
              Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip


def drain_by_inflight(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting DRAIN Based on Inflight."""
    gains, exits = [], []
    for seed in seeds:
        watch = replace(path, seconds=3.0 + 40 * path.rtt).watch(bench, seed)
        drain = watch.first("drain")
        here, after = drain.rows, drain.rows.stop
        gains.append(float(np.median(watch.pacing_rate[here] / watch.bw[here])) / MARGIN)
        early = watch.in_flight[here][:-1] <= watch.drained[here][:-1]
        exits.append(
            float(
                str(drain.following).startswith("probe-bw")
                and watch.in_flight[after] <= watch.drained[after]
                and not early[np.diff(watch.delivered[here]) > 0].any()
            )
        )
    control = path.control
    return [
        Check(f"{control}, drain: pacing gain", f"{DRAFT}, 3", Estimate.of(gains),
              DRAIN_GAIN[control], 0.01, GAIN),
        Check(f"{control}, drain ends once what is in flight is at most Inflight(1.0)",
              f"{DRAFT}, 3", Estimate.of(exits), 1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def drain_by_time(
    bench: TaskRunner, path: Path, seeds: Sequence[int], left: float
) -> tuple[list[float], list[float]]:
    """The rate falls to a share ``left`` as Drain begins. Rounds in Drain, and whether more than
    Inflight(1.0) was in flight at its end, by seed."""
    rounds, above = [], []
    for seed in seeds:
        begins = replace(path, seconds=3.0).watch(bench, seed).first("drain").start
        change = [{"at": f"{begins} s", "rate": f"{left * path.rate} Mbit/s"}]
        watch = replace(path, seconds=6.0, link={"schedule": change}).watch(bench, seed)
        drain = watch.first("drain")
        after = drain.rows.stop
        rounds.append(float(watch.rounds[after]) - float(watch.rounds[drain.rows.start]))
        above.append(float(watch.in_flight[after] > watch.drained[after]))
    return rounds, above


def drain_limit(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting DRAIN Based on Time."""
    rounds, above = drain_by_time(bench, path, seeds, 0.9)
    heavy_rounds, heavy_above = drain_by_time(bench, path, seeds, 0.3)
    first = "Exact: the first round trip for which round_count > drain_start_round + 3."
    emptied = (
        "A rate of 0.9 empties the queue in time: Drain paces at 0.5, so that at most a "
        "bandwidth-delay product waiting is gone after 1/(0.9 - 0.5) = 2.5 round trips. The "
        "draft's 'several round trips' needs a rate that falls to less than 0.5."
    )
    return [
        Check("bbr3, drain, 90% of the rate: in flight at its end is above Inflight(1.0)",
              f"{DRAFT}, 4", Estimate.of(above), 1.0, 0.0, ALWAYS, explained=emptied),
        Check("bbr3, drain, 90% of the rate: round trips", f"{DRAFT}, 4", Estimate.of(rounds),
              4.0, 0.0, first, explained=emptied),
        Check("bbr3, drain, 30% of the rate: in flight at its end is above Inflight(1.0)",
              f"{DRAFT}, 4", Estimate.of(heavy_above), 1.0, 0.0, ALWAYS),
        Check("bbr3, drain, 30% of the rate: round trips", f"{DRAFT}, 4",
              Estimate.of(heavy_rounds), 4.0, 0.0, first),
    ]  # fmt: skip


def aggregated(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Achieving Expected STARTUP Bandwidth on a Link With Aggregation: the receiver answers every
    20 ms, half of the round trip, to about 17 packets at once."""
    held = replace(
        path, seconds=3.0, transport={"ack_every": "100 packets", "delayed_ack": "20 ms"}
    )
    bandwidths, windows = [], []
    for seed in seeds:
        watch = held.watch(bench, seed)
        last = watch.first("startup").rows.stop
        bandwidths.append(float(watch.max_bw[last]) / path.bandwidth)
        bdp = float(watch.bw[last] * watch.min_rtt[last])
        windows.append(float(watch.extra_acked[last] > 0 and watch.cwnd[last - 1] > 2 * bdp))
    what = "bbr3, startup, acknowledgements every 20 ms"
    return [
        Check(f"{what}: max_bw, of the rate", f"{DRAFT}, 12", Estimate.of(bandwidths), 1.0, 0.05,
              AGGREGATED),
        Check(f"{what}: extra_acked > 0 and cwnd > 2 BDP", f"{DRAFT}, 12", Estimate.of(windows),
              1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def probe_rtt(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Entering and Exiting PROBE_RTT During STARTUP: a slow application keeps it in Startup."""
    slow = replace(path, seconds=22.0, application=SLOW_APPLICATION)

    def holds(seed: int) -> bool:
        watch = slow.watch(bench, seed)
        probes = [phase for phase in watch.phases("probe-rtt") if phase.following]
        returned = all(phase.following == "startup" for phase in probes)
        return len(probes) >= 1 and returned and not watch.full_bw_reached.any()

    return [
        Check(f"{path.control}, ProbeRTT in Startup returns to Startup", f"{DRAFT}, 20",
              Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip


def patient(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Never Exiting STARTUP When Application-Limited With No Loss."""
    slow = replace(path, seconds=22.0, application=SLOW_APPLICATION)

    def holds(seed: int) -> bool:
        watch = slow.watch(bench, seed)
        states = {phase.state for phase in watch.phases()}
        return watch.lost[-1] == 0 and states <= {"startup", "probe-rtt"}

    return [
        Check(f"{path.control}, Startup lasts while the application limits it, but for ProbeRTT",
              f"{DRAFT}, 7", Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip
