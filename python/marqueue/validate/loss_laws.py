"""The square-root law and PFTK for one TCP flow over random and over regular losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from marqueue.plot import panels
from marqueue.plot.style import legend, looks
from marqueue.stats import Estimate
from marqueue.validate.check import Check
from marqueue.validate.laws import pftk, random_aimd, regular_aimd, window_at_loss
from marqueue.validate.rung import Bench, Effort, Rung, Task
from marqueue.validate.single import lossy, windows

RTT = 0.1
"""Seconds."""
TIMEOUT = 1.0
"""The least that RFC 6298 allows, which is all of it at this round-trip time, s."""
SMALLEST_WINDOW = 20.0
"""The square-root law is about windows of many packets and losses without timeouts."""

RECOVERIES = ("reno", "newreno", "sack")
DELAYED_ACK: Mapping[int, str] = MappingProxyType({1: "0 s", 2: "0.1 s"})
"""By how many packets an acknowledgement covers."""

SAW_TOOTH = (
    "3/W, W the window at a loss: the law leaves out the round trip of fast recovery, one in W/2, "
    "and that of a window only whole packets are sent, half a packet of 3W/4 on average."
)
RANDOM = (
    "3/W as under regular losses, and pW/2: of several losses in a window the first alone cuts it."
)
PFTK_BECAUSE = (
    "25%: the model has neither fast recovery nor slow start after a timeout, and takes the packets "
    "behind a loss in the same round for lost, where here each is lost on its own."
)
RENO = (
    "Reno meets several losses in one window by several cuts and often a timeout; the law has one cut "
    "(Fall and Floyd, ACM CCR 26(3), 1996)."
)


def title(recovery: str, per_ack: int) -> str:
    """What a curve is called."""
    return f"{recovery}, delayed ACKs" if per_ack == 2 else recovery


def regular(bench: Bench, p: float, recovery: str, per_ack: int, seconds: float) -> list[Check]:
    """Every 1/p-th packet is lost: nothing is random, so there is nothing to repeat."""
    every = round(1 / p)
    transport = {"recovery": recovery, "delayed_ack": DELAYED_ACK[per_ack]}
    scenario = lossy("regular losses", {"model": "periodic", "every": f"{every} packets"},
                     transport, rtts=[RTT], seconds=seconds, replications=1)  # fmt: skip
    [found] = windows(bench.run(scenario), [RTT])
    law = regular_aimd(p, per_ack)
    tolerance = 3 / window_at_loss(p, per_ack) * law
    what = f"{title(recovery, per_ack)}, every {every}th packet lost"
    return [
        Check(what, "square-root law, sqrt(3/(2bp))", Estimate.of(found), law, tolerance,
              SAW_TOOTH, unit="packets/RTT")
    ]  # fmt: skip


def random(
    bench: Bench, p: float, recovery: str, per_ack: int, seconds: float, replications: int
) -> list[Check]:
    """Each packet is lost with probability p."""
    transport = {"recovery": recovery, "delayed_ack": DELAYED_ACK[per_ack]}
    scenario = lossy("random losses", {"model": "random", "probability": p}, transport,
                     rtts=[RTT], seconds=seconds, replications=replications)  # fmt: skip
    [found] = windows(bench.run(scenario), [RTT])
    figure = Estimate.of(found)
    what = f"{title(recovery, per_ack)}, p = {p:g}"
    full = pftk(p, RTT, TIMEOUT, per_ack)
    checks = [
        Check(what, "PFTK, full model", figure, full, 0.25 * full, PFTK_BECAUSE,
              unit="packets/RTT", place=(title(recovery, per_ack), p))
    ]  # fmt: skip
    top = window_at_loss(p, per_ack)
    if top >= SMALLEST_WINDOW:
        law = random_aimd(p, per_ack)
        checks.append(
            Check(what, "square-root law, random losses", figure, law,
                  (3 / top + p * top / 2) * law, RANDOM, unit="packets/RTT",
                  explained=RENO if recovery == "reno" else "")
        )  # fmt: skip
    return checks


def tasks(effort: Effort) -> list[Task]:
    """One a way of loss recovery, ACK policy and loss."""
    replications, events = 10, effort.pick(200, 60)
    out = []
    for recovery in RECOVERIES:
        for per_ack in (1, 2):
            for p in effort.pick((1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2), (1e-3, 1e-2)):
                law = random_aimd(p, per_ack)
                seconds = max(400.0, events / p * RTT / law)
                cost = 1.5e-6 * replications * seconds * law / RTT
                of = partial(random, p=p, recovery=recovery, per_ack=per_ack, seconds=seconds,
                             replications=replications)  # fmt: skip
                out.append(Task(f"{title(recovery, per_ack)}, p = {p:g}", cost, of))
            for p in effort.pick((1e-4, 1e-3, 5e-3), (1e-3,)):
                seconds = 100 / p * RTT / regular_aimd(p, per_ack)
                cost = 1.5e-6 * 100 / p
                one = partial(regular, p=p, recovery=recovery, per_ack=per_ack, seconds=seconds)
                out.append(Task(f"{title(recovery, per_ack)}, regular p = {p:g}", cost, one))
    return out


LAWS: Mapping[str, Callable[[float, int], float]] = MappingProxyType(
    {
        "square root, random": random_aimd,
        "square root, regular": regular_aimd,
        "PFTK": lambda p, per_ack: pftk(p, RTT, TIMEOUT, per_ack),
    }
)


def draw(checks: Sequence[Check]) -> Mapping[str, Figure]:
    """Throughput against loss, the laws as lines and the flows as points."""
    points = [(check.place, check.figure) for check in checks if check.place]
    if not points:
        return {}
    p = np.geomspace(8e-5, 6e-2, 60)
    figure, axes = panels(2)
    for panel, per_ack in zip(axes, (1, 2), strict=True):
        lines = looks(len(LAWS) + len(RECOVERIES))
        for (name, law), look in zip(LAWS.items(), lines, strict=False):
            panel.plot(p, [law(x, per_ack) for x in p], label=name, **look | {"marker": ""})
        for recovery, look in zip(RECOVERIES, lines[len(LAWS) :], strict=True):
            here = [(at, f) for (name, at), f in points if name == title(recovery, per_ack)]
            panel.errorbar(
                [at for at, _ in here],
                [f.mean for _, f in here],
                yerr=[f.half_width for _, f in here],
                label=recovery,
                **look | {"linestyle": ""},
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylabel("Packets per RTT")
        panel.set_title("delayed ACKs" if per_ack == 2 else "an ACK a packet", fontsize=9,
                        loc="right", pad=2)  # fmt: skip
    axes[-1].set_xlabel("Probability of loss")
    legend(axes[0], columns=3)
    return {
        "Throughput of one flow against the probability of loss; points: mean and 95% interval, "
        "lines: the laws.": figure
    }


LOSS_LAWS = Rung(
    "loss-laws",
    "the square-root law and PFTK",
    f"One flow over a link of 10 Gbit/s and a round trip of {RTT * 1e3:g} ms that loses packets at "
    "random or at regular distances. The square-root law is checked where the window at a loss is "
    f"at least {SMALLEST_WINDOW:g} packets; below that timeouts are a part of the truth, and PFTK has "
    "them.",
    tasks,
    draw=draw,
)
