"""Paths that change, drop or reorder: the remaining test cases of draft-ietf-ccwg-bbr."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from marqueue.statistics.estimates import Estimate
from marqueue.validation.bbr.path import Path, share
from marqueue.validation.bbr.probing import CRUISE, DOWN, REFILL, SETTLED, UP, burst
from marqueue.validation.bbr.startup import ALWAYS, CLOSE, DRAFT, MARGIN
from marqueue.validation.check import Check
from marqueue.validation.rung import TaskRunner

BETA = 0.7
UP_GAIN = 1.25 * MARGIN
"""Of pacing in PROBE_UP."""


def growth() -> float:
    """The exponent x of the growth of the rate in a round trip R of PROBE_UP.

    A delivery rate sample is the mean over a round trip of what was sent a round trip ago: r(t) = g
    times the mean of r from t - 2R to t - R, so that 1 = g exp(-x) (1 - exp(-x))/x.
    """
    return float(brentq(lambda x: UP_GAIN * math.exp(-x) * -math.expm1(-x) / x - 1, 0.01, 1))


def increase(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached."""
    change = [{"at": "5 s", "rate": f"{10 * path.rate} Mbit/s"}]
    faster = replace(path, seconds=12.0, buffer=10 * path.buffer, link={"schedule": change})
    rounds, ups = [], []
    for seed in seeds:
        watch = faster.watch(bench, seed)
        begin = watch.first(UP, after=5.0).rows.start
        reached = np.flatnonzero(watch.max_bw >= 0.98 * 10 * path.bandwidth)
        row = int(reached[0]) if reached.size else len(watch.t) - 1
        rounds.append(float(watch.rounds[row]) - float(watch.rounds[begin]))
        between = [u for u in watch.phases(UP, after=5.0) if u.start < watch.t[row]]
        ups.append(float(len(between)) if reached.size else math.nan)
    needed = math.log(0.98 * 10) / growth() + 1
    return [
        Check("bbr3, from 10 to 100 Mbit/s: round trips of PROBE_UP", f"{DRAFT}, 15",
              Estimate.of(rounds), needed, 3.0,
              "3 round trips, of the first samples and of where in a round each end lies. The rate "
              "grows by exp(0.143) a round, the root of g exp(-x)(1 - exp(-x)) = x for g = 1.25 · "
              "0.99, as a sample is the mean of a round trip. (Set before the first run, with "
              "ln g instead, which gives 11.7 and left that mean out.)", unit="round trips"),
        Check("bbr3, from 10 to 100 Mbit/s: phases of PROBE_UP", f"{DRAFT}, 15",
              Estimate.of(ups), 1.0, 0.0,
              "Exact: two rounds of PROBE_UP grow by more than 25%, so that it goes on."),
    ]  # fmt: skip


def slope(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """The same over a shallow buffer, where losses have set inflight_longterm: its steps double."""
    change = [{"at": "6 s", "rate": f"{10 * path.rate} Mbit/s"}]
    bounded = replace(path, seconds=12.0, buffer=16, link={"schedule": change})
    ratios = []
    for seed in seeds:
        watch = bounded.watch(bench, seed)
        for up in watch.phases(UP, after=6.0):
            rounds, longterm = watch.rounds[up.rows], watch.inflight_longterm[up.rows]
            edges = np.flatnonzero(np.diff(rounds.astype(int)) > 0) + 1
            steps = np.diff(longterm[edges])
            steps = steps[1:-1][np.isfinite(steps[1:-1])]
            growing = steps[1:] / np.where(steps[:-1] >= 2, steps[:-1], np.nan)
            ratios += growing[np.isfinite(growing) & (growing > 0)].tolist()
    figure = Estimate.of([float(np.median(ratios))]) if ratios else Estimate.of([])
    return [
        Check("bbr3, inflight_longterm in PROBE_UP: median ratio of the growth of two rounds",
              f"{DRAFT}, 15", figure, 2.0, 0.5,
              "0.5: whole packets; and a window that grows within a round acknowledges up to 1.5 "
              "times what its increment counts."),
    ]  # fmt: skip


def decrease(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down."""
    change = [{"at": "5 s", "rate": f"{path.rate} Mbit/s"}]
    slower = replace(path, rate=10 * path.rate, seconds=30.0, link={"schedule": change})
    short, late = [], []
    for seed in seeds:
        watch = slower.watch(bench, seed)
        downs = list(watch.phases(DOWN, after=5.0))
        # The filter is of this cycle and the one before; the first may have begun before 5 s.
        third = downs[2].rows.stop if len(downs) > 2 else len(watch.t) - 1
        until = np.arange(watch.row(5.0), third)
        lowest = watch.bound("bw_shortterm")[until].min()
        short.append(float(lowest <= BETA**2 * watch.max_bw[until[0]]))
        late.append(float(watch.max_bw[third]) / path.bandwidth)
    return [
        Check("bbr3, from 100 to 10 Mbit/s: bw_shortterm falls by Beta² or more before max_bw",
              f"{DRAFT}, 16", Estimate.of(short), 1.0, 0.0,
              "Exact: two rounds with losses. How many more there are, the buffer decides."),
        Check("bbr3, from 100 to 10 Mbit/s: max_bw after two cycles, of the rate", f"{DRAFT}, 16",
              Estimate.of(late), 1.0, 0.02, CLOSE),
    ]  # fmt: skip


def policer(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Handling Token Bucket Policers: tokens at 10 Mbit/s, a burst of 100 ms of them, on a link of
    100 Mbit/s."""
    aqm = {"name": "policer", "rate": f"{path.rate} Mbit/s"}
    policed = replace(path, rate=10 * path.rate, seconds=40.0, link={"aqm": aqm})
    reacts, used, lost = [], [], []
    for seed in seeds:
        watch = policed.watch(bench, seed)
        both = np.isfinite(watch.bw_shortterm) & np.isfinite(watch.inflight_shortterm)
        reacts.append(float(both.any()))
        used.append(watch.goodput(20, 40) / path.bandwidth)
        first, last = watch.row(20), len(watch.t) - 1
        losses = float(watch.lost[last]) - float(watch.lost[first])
        lost.append(losses / (losses + watch.goodput(20, 40) * 20))
    return [
        Check("bbr3, policer: bw_shortterm and inflight_shortterm are set", f"{DRAFT}, 17",
              Estimate.of(reacts), 1.0, 0.0, ALWAYS),
        Check("bbr3, policer: goodput after 20 s, of the tokens", f"{DRAFT}, 17",
              Estimate.of(used), 1.0, 0.15,
              "0.15: InflightWithHeadroom leaves 0.15 free on purpose."),
        Check("bbr3, policer: share lost after 20 s", f"{DRAFT}, 17", Estimate.of(lost), 0.0,
              0.05, "0.05: a probe is ended by losses of 2%, and two rounds of it are under way "
              "by then."),
    ]  # fmt: skip


def reordering(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Handling Spurious Fast Recovery: one packet in 300 comes 15 ms later."""
    reorder = {"probability": 1 / 300, "delay": "15 ms"}
    mixed = replace(path, seconds=20.0, link={"reorder": reorder})
    undone, restored = [], []
    for seed in seeds:
        watch = mixed.watch(bench, seed)
        rows = np.flatnonzero(np.diff(watch.spurious.astype(int)) > 0) + 1
        undone.append(float(rows.size > 0))
        bounds = [
            watch.bound(name)
            for name in ("bw_shortterm", "inflight_shortterm", "inflight_longterm")
        ]
        good = []
        for row in rows:
            # Back to the last row before the first loss of the episode.
            before = int(np.flatnonzero(watch.lost[: row + 1] < watch.lost[row])[-1])
            kept = all(each[row] >= each[before] for each in bounds)
            # PROBE_UP may have ended by a plateau meanwhile, which nothing undoes.
            by_loss = str(watch.state[before]) == UP and watch.full_bw_count[row - 1] < 3
            again = not by_loss or str(watch.state[row]) in (UP, REFILL, "probe-rtt")
            good.append(kept and again)
        restored.append(float(np.mean(good)) if good else math.nan)
    return [
        Check("bbr3, reordering: recoveries are found spurious", f"{DRAFT}, 18",
              Estimate.of(undone), 1.0, 0.0, ALWAYS),
        Check("bbr3, reordering: bounds and PROBE_UP are restored", f"{DRAFT}, 18",
              Estimate.of(restored), 1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def late(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Handling Spurious RTO Recovery: the link all but stops for 500 ms, and loses nothing."""
    undone, restored = [], []
    for seed in seeds:
        at = 4.0 + 0.25 * seed
        # A packet takes 600 ms.
        stop = [
            {"at": f"{at} s", "rate": "20 kbit/s"},
            {"at": f"{at + 0.5} s", "rate": f"{path.rate} Mbit/s"},
        ]
        watch = replace(path, seconds=at + 4, link={"schedule": stop}).watch(bench, seed)
        before, last = watch.row(at), len(watch.t) - 1
        rows = np.flatnonzero(np.diff(watch.spurious.astype(int)) > 0) + 1
        rows = rows[rows > before]
        timeouts = float(watch.result.flows["timeouts"][0].as_py())
        undone.append(float(rows.size > 0 and timeouts >= 1))
        row = int(rows[0]) if rows.size else last
        kept = watch.bound("inflight_longterm")[row] >= watch.bound("inflight_longterm")[before]
        free = np.isnan(watch.bw_shortterm[row]) and np.isnan(watch.inflight_shortterm[row])
        restored.append(float(kept and free))
    return [
        Check("bbr3, a delay of 500 ms: the timeout is found spurious", f"{DRAFT}, 19",
              Estimate.of(undone), 1.0, 0.0, ALWAYS),
        Check("bbr3, a delay of 500 ms: bounds are restored", f"{DRAFT}, 19",
              Estimate.of(restored), 1.0, 0.0, ALWAYS),
    ]  # fmt: skip


def loss_in_up(bench: TaskRunner, path: Path, seeds: Sequence[int]) -> list[Check]:
    """Handling Loss During PROBE_UP After inflight_longterm is Set: a buffer of half a
    bandwidth-delay product sets it in Startup, other traffic fills it in PROBE_UP."""
    shallow = replace(path, buffer=16, seconds=10.0)

    def holds(seed: int) -> bool:
        pilot = shallow.watch(bench, seed)
        set_at = pilot.t[np.flatnonzero(np.isfinite(pilot.inflight_longterm))[0]]
        begins = pilot.first(UP, after=max(SETTLED, float(set_at))).start
        at = begins + 0.5 * path.rtt
        watch = replace(shallow, seconds=at + 2, cross=[burst(at)]).watch(bench, seed)
        up = watch.first(UP, after=max(SETTLED, float(set_at)))
        row = up.rows.stop
        before, after = watch.inflight_longterm[row - 1], watch.inflight_longterm[row]
        least = BETA * min(watch.bw[row - 1] * watch.min_rtt[row - 1], watch.cwnd[row - 1])
        # PROBE_DOWN is over at once, in the same acknowledgement, if little is in flight.
        return (
            up.following in (DOWN, CRUISE)
            and watch.full_bw_count[row] < 3
            and bool(least - 1e-6 <= after < before)
        )

    return [
        Check("bbr3, losses end PROBE_UP at once and lower inflight_longterm, to Beta at least",
              f"{DRAFT}, 21", Estimate.of(share(seeds, holds)), 1.0, 0.0, ALWAYS)
    ]  # fmt: skip
