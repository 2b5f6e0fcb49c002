"""CUBIC: time back to W_max, average window, Reno-friendly region (RFC 9438)."""

from __future__ import annotations

from functools import partial

import numpy as np

from marqueue.results import Result
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.theory.tcp.laws import (
    cubic_k,
    friendly_alpha,
    random_cubic,
    regular_aimd,
    regular_cubic,
)
from marqueue.validation.check import Check
from marqueue.validation.one_flow import PACKET_COST, lossy, windows
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

C, BETA = 0.4, 0.7
CUT = 0.9
"""A window below this share of its earlier value has been reduced."""
STEEP = 0.72, 0.97
"""Shares of W_max between which the curve is steep: after the reduction and before the plateau."""
CYCLES = 300
TRANSPORT = {"control": "cubic", "recovery": "sack", "delayed_ack": "0 s"}

K_BECAUSE = (
    "Two round trips: one of fast recovery before the stage begins, and one because the window is "
    "led to where W_cubic will be a round trip later (4.4)."
)
AVERAGE_BECAUSE = (
    "2 RTT/K for the two round trips that the cycle is longer than K, and 3%: near the formula's "
    "cycle the curve is so flat that its own recursion comes no closer in a thousand cycles."
)
RANDOM_BECAUSE = (
    "2 RTT/K as under regular losses, K that of the average window; and pW/2, as of several losses "
    "in a window the first alone cuts it."
)
FRIENDLY_BECAUSE = (
    "3/W, W the window at a loss: the formula leaves out the round trip of fast recovery and that "
    "only whole packets are sent."
)


def stages(result: Result) -> tuple[Floats, Floats, Floats]:
    """The stages of the second half of the run, in which the only flow has settled: duration of
    each, s; window at its end; and K, s, from the path of the window.

    The curve is flat at W_max, so the time at W_max cannot be read directly. But W_max - W = C (K -
    t)^3 gives K at every point of its steep part. W_max is the window at the reduction. Stages
    after a reduction at a lower window than before (fast convergence, 4.7) are left out.
    """
    table = result.to_arrow("tcp")
    t, cwnd = table["t"].to_numpy(), table["cwnd"].to_numpy()
    cut = 1 + np.flatnonzero(cwnd[1:] < CUT * cwnd[:-1])
    cut = cut[len(cut) // 2 :]
    k = []
    for before, i, end in zip(cut[:-2], cut[1:-1], cut[2:], strict=True):
        w_max = cwnd[i - 1]
        if w_max >= cwnd[before - 1]:
            way = slice(i + 1, end)
            steep = (STEEP[0] * w_max < cwnd[way]) & (cwnd[way] < STEEP[1] * w_max)
            k.append(np.mean((t[way] - t[i] + np.cbrt((w_max - cwnd[way]) / C))[steep]))
    return np.diff(t[cut]), cwnd[cut - 1], np.array(k)


def regular(bench: TaskRunner, every: int, rtt: float) -> list[Check]:
    """Losses at regular distances."""
    p = 1 / every
    law = regular_cubic(p, rtt)
    scenario = lossy("cubic", {"model": "periodic", "every": f"{every} packets"}, TRANSPORT,
                     rtts=[rtt], seconds=CYCLES * every * rtt / law, replications=1,
                     trace=True)  # fmt: skip
    lasted, top, k = stages(bench.run(scenario))
    expected = cubic_k(float(top.mean()))
    what = f"every {every}th packet lost, RTT {rtt * 1e3:g} ms"
    return [
        Check(f"{what}: from a cut back to W_max", "K, RFC 9438 equation (2)",
              Estimate.of(k), expected, 2 * rtt, K_BECAUSE, unit="s"),
        Check(f"{what}: average window", "RFC 9438, section 5.1",
              Estimate.of(every * rtt / lasted), law, (2 * rtt / expected + 0.03) * law,
              AVERAGE_BECAUSE, unit="packets/RTT"),
    ]  # fmt: skip


def random(bench: TaskRunner, p: float, rtt: float, events: int, replications: int) -> list[Check]:
    """Random losses."""
    law = random_cubic(p, rtt)
    scenario = lossy("cubic", {"model": "random", "probability": p}, TRANSPORT, rtts=[rtt],
                     seconds=events / p * rtt / law, replications=replications)  # fmt: skip
    [found] = windows(bench.run(scenario), [rtt])
    tolerance = (2 * rtt / cubic_k(law) + p * law / 2) * law
    return [
        Check(f"p = {p:g}, RTT {rtt * 1e3:g} ms: average window", "RFC 9438's curve, random losses",
              Estimate.of(found), law, tolerance, RANDOM_BECAUSE, unit="packets/RTT")
    ]  # fmt: skip


def friendly(bench: TaskRunner, every: int, rtt: float) -> list[Check]:
    """The Reno-friendly region: CUBIC is as fast as Reno."""
    p = 1 / every
    law = regular_aimd(p, a=friendly_alpha(BETA), beta=BETA)
    assert regular_cubic(p, rtt) < 0.7 * law, "this is the Reno-friendly region"
    scenario = lossy("reno-friendly", {"model": "periodic", "every": f"{every} packets"},
                     TRANSPORT, rtts=[rtt], seconds=200 * every * rtt / law,
                     replications=1)  # fmt: skip
    [found] = windows(bench.run(scenario), [rtt])
    # The peak of the saw-tooth, whose mean is (1 + beta)/2 of it.
    top = 2 * law / (1 + BETA)
    return [
        Check(f"every {every}th packet lost, RTT {rtt * 1e3:g} ms: Reno-friendly",
              "AVG_AIMD, RFC 9438 section 4.3", Estimate.of(found), law, 3 / top * law,
              FRIENDLY_BECAUSE, unit="packets/RTT")
    ]  # fmt: skip


def tasks(effort: Effort) -> list[Task]:
    """Regular and random losses outside the Reno-friendly region, and regular losses within."""
    curves = effort.pick(((3_000, 0.2), (10_000, 0.1), (30_000, 0.2)), ((3_000, 0.2),))
    randoms = effort.pick(((3e-4, 0.2), (1e-4, 0.2), (1e-4, 0.1)), ((3e-4, 0.2),))
    friends = effort.pick(((1000, 0.01), (1000, 0.03), (200, 0.02)), ((1000, 0.02),))
    events, replications = effort.pick(400, 200), 10
    return [
        *(
            Task(f"cubic, every {n}", PACKET_COST * CYCLES * n, partial(regular, every=n, rtt=rtt))
            for n, rtt in curves
        ),
        *(
            Task(f"cubic, p = {p:g}", PACKET_COST * events * replications / p,
                 partial(random, p=p, rtt=rtt, events=events, replications=replications))
            for p, rtt in randoms
        ),
        *(
            Task(f"friendly, every {n}", PACKET_COST * 210 * n, partial(friendly, every=n, rtt=rtt))
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
