"""ProbeBW and ProbeRTT: the test cases of draft-ietf-ccwg-bbr over a path that stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from marqueue.statistics.estimates import Estimate
from marqueue.validation.bbr.path import Path, Watch, share
from marqueue.validation.bbr.startup import ALWAYS, DRAFT, GAIN, MARGIN
from marqueue.validation.check import Check
from marqueue.validation.rung import TaskRunner

UP, DOWN, CRUISE, REFILL = (f"probe-bw-{name}" for name in ("up", "down", "cruise", "refill"))
PROBE_RTT_INTERVAL = {"bbr3": 5.0, "bbr1": 10.0}
#: Least that is in flight in ProbeRTT, packets, and the share of the bandwidth-delay product.
PROBE_RTT_WINDOW = {"bbr3": 0.5, "bbr1": 0.0}
FEW = 4.0
"""BBR.MinPipeCwnd."""

SETTLED = 2.0
"""Seconds after which Startup and Drain are over, on 10 Mbit/s and 40 ms."""


def up_plateau(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting PROBE_UP on Bandwidth Plateau."""

    def holds(seed: int) -> bool:
        watch = path.watch(bench, seed)
        ended = [up for up in watch.phases(UP, after=SETTLED) if up.following]
        full = [watch.full_bw_count[up.rows.stop] == 3 for up in ended]
        down = [up.following == DOWN for up in ended]
        return len(ended) >= 2 and all(full) and all(down) and watch.lost[-1] == 0

    return [
        Check("bbr3, PROBE_UP ends after three rounds of a plateau, without loss", f"{DRAFT}, 5",
              Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip


def limited_from(path: Path, watch: Watch, at: float) -> Path:
    """The same path, whose application has data until a time of a run, and then writes 60% of the
    rate: 2 packets every 4 ms at 10 Mbit/s."""
    every = 2 / (0.6 * path.bandwidth)
    return replace(
        path,
        application={
            "first": f"{watch.sent(at)} packets",
            "first_lasts": f"{at} s",
            "write": "2 packets",
            "every": f"{every:.6f} s",
        },
    )


def burst(at: float) -> dict[str, Any]:
    """Other traffic that fills a queue for 60 ms."""
    return {
        "name": "burst", "kind": "cbr", "rate": "200 Mbit/s", "packet": "1500 B",
        "start": f"{at} s", "stop": f"{at + 0.06} s", "jitter": "0 s",
    }  # fmt: skip


def up_limited(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting PROBE_UP on Loss When Application-Limited, and never exiting it without loss."""
    stays, leaves, bounds = [], [], []
    for seed in seeds:
        pilot = replace(path, seconds=8.0).watch(bench, seed)
        at = pilot.first(UP, after=SETTLED).start
        limited = limited_from(path, pilot, at)
        quiet = limited.watch(bench, seed)
        up = quiet.first(UP, after=SETTLED)
        stays.append(float(quiet.lost[-1] == 0 and up.following in (None, "probe-rtt")))
        loss = at + 0.5
        lossy = replace(limited, seconds=at + 2, cross=[burst(loss)]).watch(bench, seed)
        up = lossy.first(UP, after=SETTLED)
        prompt = loss < up.end < loss + 0.06 + 4 * path.rtt + path.buffer / path.bandwidth
        leaves.append(float(up.following == DOWN and prompt and lossy.app_limited[up.rows.stop]))
        bounds.append(float(np.isnan(lossy.inflight_longterm[up.rows.stop])))
    return [
        Check("bbr3, PROBE_UP lasts while the application limits it, but for ProbeRTT",
              f"{DRAFT}, 7", Estimate.of(stays), 1.0, 0.0, ALWAYS),
        Check("bbr3, PROBE_UP ends by losses, though limited by the application", f"{DRAFT}, 6",
              Estimate.of(leaves), 1.0, 0.0, ALWAYS),
        Check("bbr3, the same: inflight_longterm is left as it is",
              f"{DRAFT}, 6; HandleInflightTooHigh", Estimate.of(bounds), 1.0, 0.0,
              "Exact. The case wants it 'updated appropriately, regardless of the "
              "application-limited state'; the pseudocode updates it only if not limited."),
    ]  # fmt: skip


def down_inflight(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting PROBE_DOWN on Inflight."""
    gains, exits = [], []
    for seed in seeds:
        watch = path.watch(bench, seed)
        downs = [d for d in watch.phases(DOWN) if d.following == CRUISE]
        rates = [watch.pacing_rate[d.rows] / watch.bw[d.rows] for d in downs]
        gains.append(float(np.median(np.concatenate(rates))) / MARGIN)
        longterm = watch.bound("inflight_longterm")
        # 0.85 of it, but at least one packet less.
        headroom = np.maximum(np.minimum(0.85 * longterm, longterm - 1), FEW)
        most = np.minimum(headroom, watch.drained)
        exits.append(float(all(watch.in_flight[d.rows.stop] <= most[d.rows.stop] for d in downs)))
    return [
        Check("bbr3, PROBE_DOWN: pacing gain", f"{DRAFT}, 8", Estimate.of(gains), 0.9, 0.01, GAIN),
        Check("bbr3, PROBE_DOWN ends below headroom and Inflight(1.0)", f"{DRAFT}, 8",
              Estimate.of(exits), 1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def down_time(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Exiting PROBE_DOWN After Max Time: the rate falls by 10% as it begins."""

    def holds(seed: int) -> bool:
        pilot = replace(path, seconds=8.0).watch(bench, seed)
        up = next(up for up in pilot.phases(UP, after=SETTLED) if up.following == DOWN)
        change = [{"at": f"{up.end} s", "rate": f"{0.9 * path.rate} Mbit/s"}]
        watch = replace(path, seconds=up.end + 5, link={"schedule": change}).watch(bench, seed)
        return watch.first(DOWN, after=up.end).following == REFILL

    return [
        Check("bbr3, PROBE_DOWN ends in PROBE_REFILL where the queue stays", f"{DRAFT}, 9",
              Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip


def probe_rtt(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Entering and Exiting PROBE_RTT."""
    control = path.control
    interval = PROBE_RTT_INTERVAL[control]
    gaps, lengths, exits = [], [], []
    for seed in seeds:
        watch = replace(path, seconds=3.5 * interval).watch(bench, seed)
        probes = [p for p in watch.phases("probe-rtt") if p.following]
        gaps += [b.start - a.end for a, b in pairwise(probes)]
        for probe in probes:
            bdp = float(watch.bw[probe.rows.start] * watch.min_rtt[probe.rows.start])
            most = max(PROBE_RTT_WINDOW[control] * bdp, FEW)
            low = np.flatnonzero(watch.in_flight[probe.rows] <= most)
            lengths.append(probe.end - float(watch.t[probe.rows.start + int(low[0])]))
            exits.append(float(str(probe.following).startswith("probe-bw")))
    what = f"{control}, ProbeRTT"
    return [
        Check(f"{what}: time from one to the next", f"{DRAFT}, 10", Estimate.of(gaps), interval,
              3 * path.rtt, "Three round trips: it begins with the first acknowledgement after the "
              "interval, which counts from the least round-trip time found at its end.", unit="s"),
        Check(f"{what}: time with little in flight", f"{DRAFT}, 10", Estimate.of(lengths),
              0.2 + path.rtt, path.rtt, "A round trip: at least 200 ms and a round trip.",
              unit="s"),
        Check(f"{what} returns to ProbeBW", f"{DRAFT}, 10", Estimate.of(exits), 1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def skip_probe_rtt(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Skipping PROBE_RTT Due to Application-Limited Sending."""
    interval = PROBE_RTT_INTERVAL[path.control]
    again = 3 + interval + 2
    application = {
        "first": f"{round(2.5 * path.bandwidth)} packets", "first_lasts": f"{again} s",
        "write": "100000 packets", "every": "5 s",
    }  # fmt: skip
    idle = replace(path, seconds=again + 2, application=application)

    def holds(seed: int) -> bool:
        watch = idle.watch(bench, seed)
        resumed = watch.row(again)
        rtt_probes = list(watch.phases("probe-rtt", after=3.0))
        restarted = watch.idle_restart[resumed : resumed + 30].any()
        return not rtt_probes and bool(restarted) and watch.goodput(again, again + 2) > 0

    return [
        Check(f"{path.control}, no ProbeRTT after a pause of {interval + 2:g} s", f"{DRAFT}, 11",
              Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip


def aggregated(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Achieving Expected Cruise Bandwidth on a Link With Aggregation."""
    held = replace(
        path, seconds=20.0, transport={"ack_every": "100 packets", "delayed_ack": "20 ms"}
    )
    aggregate = 0.02 * path.bandwidth
    extra, used, windows = [], [], []
    for seed in seeds:
        watch = held.watch(bench, seed)
        cruises = list(watch.phases(CRUISE, after=SETTLED))
        rows = np.concatenate([np.arange(c.rows.start, c.rows.stop) for c in cruises])
        extra.append(float(np.median(watch.extra_acked[rows])))
        most = 2 * watch.bw[rows] * watch.min_rtt[rows] + watch.extra_acked[rows]
        windows.append(float((watch.cwnd[rows] <= most + 1).all()))
        lasted = sum(c.end - c.start for c in cruises)
        got = sum(watch.goodput(c.start, c.end) * (c.end - c.start) for c in cruises)
        used.append(got / lasted / path.bandwidth)
    what = "bbr3, cruise, acknowledgements every 20 ms"
    return [
        Check(f"{what}: extra_acked", f"{DRAFT}, 13", Estimate.of(extra), aggregate,
              0.5 * aggregate, "Half of an aggregate: it counts from what pacing has expected by "
              "then, and an aggregate is of 16, 17 or 18 packets.", unit="packets"),
        Check(f"{what}: cwnd is at most 2 BDP + extra_acked", f"{DRAFT}, 13",
              Estimate.of(windows), 1.0, 0.0, ALWAYS),
        Check(f"{what}: goodput, of the rate", f"{DRAFT}, 13", Estimate.of(used), MARGIN, 0.02,
              "0.02: the draft's closeness of bandwidths; Cruise paces at 0.99."),
    ]  # fmt: skip


def few_packets(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Correctly Managing Sub-Packet BDPs: 64 kbit/s and 100 ms, half a packet."""
    thin = replace(path, rate=0.064, rtt=0.1, buffer=40, seconds=120.0)
    least, paced, used = [], [], []
    for seed in seeds:
        watch = thin.watch(bench, seed)
        cruises = list(watch.phases(CRUISE if path.control == "bbr3" else "probe-bw", after=20.0))
        rows = np.concatenate([np.arange(c.rows.start, c.rows.stop) for c in cruises])
        least.append(float(watch.cwnd[watch.row(20.0) :].min()))
        paced.append(float(np.median(watch.pacing_rate[rows])) / thin.bandwidth)
        used.append(watch.goodput(20, 120) / thin.bandwidth)
    what = f"{path.control}, 64 kbit/s and 100 ms"
    return [
        Check(f"{what}: least cwnd, in ProbeRTT", f"{DRAFT}, 14", Estimate.of(least), FEW, 0.0,
              ALWAYS, unit="packets"),
        Check(f"{what}: median of the pacing rate, of the rate", f"{DRAFT}, 14",
              Estimate.of(paced), MARGIN, 0.02, "0.02: the draft's closeness of bandwidths."),
        Check(f"{what}: goodput, of the rate", f"{DRAFT}, 14", Estimate.of(used), 1.0, 0.05,
              "0.05: 1% of pacing margin, and ProbeRTT (2% of the time, draft, ProbeRTT Design "
              "Rationale)."),
    ]  # fmt: skip


def refill_limited(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Handling Application-Limited Sending During PROBE_REFILL: a pause of 100 ms."""

    def holds(seed: int) -> bool:
        pilot = replace(path, seconds=8.0).watch(bench, seed)
        at = pilot.first(REFILL, after=SETTLED).start
        paused = replace(
            path,
            seconds=at + 3,
            application={
                "first": f"{pilot.sent(at)} packets", "first_lasts": f"{at + 0.1} s",
                "write": "100000 packets", "every": "5 s",
            },
        )  # fmt: skip
        watch = paused.watch(bench, seed)
        refill = watch.first(REFILL, after=SETTLED)
        here = watch.max_bw[refill.rows]
        following = [up.following for up in watch.phases(UP, after=at) if up.following]
        return (
            bool(watch.app_limited[refill.rows].any())
            and refill.following == UP
            and bool((here >= here[0]).all())
            and following[:1] == [DOWN]
        )

    return [
        Check("bbr3, a pause in PROBE_REFILL lowers no max_bw, and PROBE_UP follows",
              f"{DRAFT}, 22", Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip
