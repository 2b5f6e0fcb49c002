"""CUBIC: the time back to W_max, the average window, the Reno-friendly region (RFC 9438)."""

from __future__ import annotations

from functools import partial

import numpy as np

from marqueue.result import Result
from marqueue.stats import Estimate, Floats
from marqueue.validate.check import Check
from marqueue.validate.laws import (
    cubic_k,
    friendly_alpha,
    random_cubic,
    regular_aimd,
    regular_cubic,
)
from marqueue.validate.rung import Bench, Effort, Rung, Task
from marqueue.validate.single import WARMUP, lossy, windows

BETA = 0.7
TRANSPORT = {"control": "cubic", "recovery": "sack", "delayed_ack": "0 s"}

K_BECAUSE = (
    "Two round trips: one of fast recovery before the stage begins, and one because the window is "
    "led to where W_cubic will be a round trip later (4.4)."
)
AVERAGE_BECAUSE = "2 RTT/K: the two round trips that the cycle is longer than K (see K)."
RANDOM_BECAUSE = (
    "2 RTT/K as under regular losses, K that of the average window; and pW/2, as of several losses "
    "in a window the first alone cuts it."
)
FRIENDLY_BECAUSE = (
    "3/W, W the window at a loss: the formula leaves out the round trip of fast recovery and that "
    "only whole packets are sent."
)


def cuts(result: Result) -> tuple[Floats, Floats]:
    """When the window of the only flow was cut after the warm-up, s, and what it was before."""
    table = result.to_arrow("cwnd")
    t, cwnd = table["t"].to_numpy(), table["cwnd"].to_numpy()
    at = 1 + np.flatnonzero((cwnd[1:] < 0.9 * cwnd[:-1]) & (t[1:] > WARMUP))
    return t[at], cwnd[at - 1]


def regular(bench: Bench, every: int, rtt: float) -> list[Check]:
    """Losses at regular distances: each comes when the window is back at W_max, K after the cut."""
    p = 1 / every
    law = regular_cubic(p, rtt)
    seconds = 40 * every * rtt / law
    scenario = lossy("cubic", {"model": "periodic", "every": f"{every} packets"}, TRANSPORT,
                     rtts=[rtt], seconds=seconds, replications=1, trace=True)  # fmt: skip
    result = bench.run(scenario)
    t, before = cuts(result)
    settled = len(t) // 2
    between = np.diff(t[settled:])
    k = cubic_k(float(before[settled:].mean()))
    [found] = windows(result, [rtt])
    what = f"every {every}th packet lost, RTT {rtt * 1e3:g} ms"
    return [
        Check(f"{what}: from a cut back to W_max", "K, RFC 9438 equation (2)",
              Estimate(float(between.mean()), None, 1), k, 2 * rtt, K_BECAUSE, unit="s"),
        Check(f"{what}: average window", "RFC 9438, section 5.1", Estimate.of(found), law,
              2 * rtt / k * law, AVERAGE_BECAUSE, unit="packets/RTT"),
    ]  # fmt: skip


def random(bench: Bench, p: float, rtt: float, events: int, replications: int) -> list[Check]:
    """Losses at random."""
    law = random_cubic(p, rtt)
    scenario = lossy("cubic", {"model": "random", "probability": p}, TRANSPORT, rtts=[rtt],
                     seconds=events / p * rtt / law, replications=replications)  # fmt: skip
    [found] = windows(bench.run(scenario), [rtt])
    tolerance = (2 * rtt / cubic_k(law) + p * law / 2) * law
    return [
        Check(f"p = {p:g}, RTT {rtt * 1e3:g} ms: average window", "RFC 9438's curve, random losses",
              Estimate.of(found), law, tolerance, RANDOM_BECAUSE, unit="packets/RTT")
    ]  # fmt: skip


def friendly(bench: Bench, every: int, rtt: float) -> list[Check]:
    """Where Reno is faster than the cubic curve, CUBIC is as fast as Reno."""
    p = 1 / every
    law = regular_aimd(p, a=friendly_alpha(BETA), beta=BETA)
    assert regular_cubic(p, rtt) < 0.7 * law, "this is the Reno-friendly region"
    scenario = lossy("reno-friendly", {"model": "periodic", "every": f"{every} packets"},
                     TRANSPORT, rtts=[rtt], seconds=200 * every * rtt / law,
                     replications=1)  # fmt: skip
    [found] = windows(bench.run(scenario), [rtt])
    # The top of the saw-tooth, whose mean is (1 + beta)/2 of it.
    top = 2 * law / (1 + BETA)
    return [
        Check(f"every {every}th packet lost, RTT {rtt * 1e3:g} ms: Reno-friendly",
              "AVG_AIMD, RFC 9438 section 4.3", Estimate.of(found), law, 3 / top * law,
              FRIENDLY_BECAUSE, unit="packets/RTT")
    ]  # fmt: skip


def tasks(effort: Effort) -> list[Task]:
    """Regular and random losses away from the Reno-friendly region, and within it."""
    packets = 1.5e-6
    curves = effort.pick(((100_000, 0.1), (30_000, 0.2), (300_000, 0.05)), ((30_000, 0.2),))
    randoms = effort.pick(((1e-4, 0.2), (3e-5, 0.1)), ((3e-4, 0.2),))
    friends = effort.pick(((1000, 0.01), (1000, 0.03), (200, 0.03)), ((1000, 0.02),))
    events, replications = effort.pick(200, 60), 10
    return [
        *(
            Task(f"cubic, every {n}", packets * 45 * n, partial(regular, every=n, rtt=rtt))
            for n, rtt in curves
        ),
        *(
            Task(f"cubic, p = {p:g}", packets * events * replications / p,
                 partial(random, p=p, rtt=rtt, events=events, replications=replications))
            for p, rtt in randoms
        ),
        *(
            Task(f"friendly, every {n}", packets * 210 * n, partial(friendly, every=n, rtt=rtt))
            for n, rtt in friends
        ),
    ]  # fmt: skip


CUBIC = Rung(
    "cubic",
    "CUBIC's K, its average window, its Reno-friendly region",
    "One flow over a link of 10 Gbit/s that loses packets at regular distances, as RFC 9438 takes "
    "it for its formulas, or at random.",
    tasks,
)
