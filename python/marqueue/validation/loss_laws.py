"""The square-root law and PFTK for one TCP flow with random and with regular losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots import panels
from marqueue.plots.style import legend, looks
from marqueue.statistics.estimates import Estimate
from marqueue.theory.tcp.laws import pftk, random_aimd, regular_aimd, window_at_loss
from marqueue.validation.check import Check
from marqueue.validation.one_flow import PACKET_COST, Settings, lossy, windows
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

RTT = 0.1
"""Seconds."""
TIMEOUT = 1.0
"""Smallest timeout of RFC 6298, s; it applies at this round-trip time."""
SMALLEST_WINDOW = 20.0
"""The square-root law holds for large windows and losses without timeouts."""


@dataclass(frozen=True)
class Sender:
    """A variant of TCP: loss recovery, acknowledgements, and window growth."""

    name: str
    transport: Settings
    per_ack: int
    """Round trips in which the window grows by one segment: b."""

    @property
    def delays(self) -> bool:
        """Whether acknowledgements are delayed."""
        return bool(self.transport["delayed_ack"] != "0 s")


RFC = {"preset": "rfc", "delayed_ack": "0 s"}
#: The window grows by acknowledgements, as in ns-2 and as RFC 5681 allows; each covers two
#: segments.
COUNTS_ACKS = {"preset": "ns2", "delayed_ack": "0.1 s", "min_rto": f"{TIMEOUT} s"}

SENDERS = (
    *(Sender(name, RFC | {"recovery": name}, 1) for name in ("reno", "newreno", "sack")),
    # RFC 5681, 3.1: the window grows by acknowledged bytes.
    Sender(
        "sack, delayed ACKs, bytes counted",
        RFC | {"recovery": "sack", "delayed_ack": "0.1 s"},
        1,
    ),
    *(
        Sender(f"{name}, delayed ACKs counted", COUNTS_ACKS | {"recovery": name}, 2)
        for name in ("reno", "newreno", "sack")
    ),
)

SAW_TOOTH = (
    "3/W, W the window at a loss: the law leaves out the round trip of fast recovery, one in W/2, "
    "and that of a window only whole packets are sent, half a packet of 3W/4 on average. With "
    "delayed ACKs 4/W, as an odd packet is not acknowledged at once."
)
RANDOM = (
    "3/W as under regular losses, and pW/2: of several losses in a window the first alone cuts it."
)
PFTK_BECAUSE = (
    "25%: the model has neither fast recovery nor slow start after a timeout, and takes the "
    "packets behind a loss in the same round for lost, where here each is lost on its own."
)
RENO = (
    "Reno meets several losses in one window by several cuts and often a timeout; the law has one "
    "cut (Fall and Floyd, ACM CCR 26(3), 1996)."
)
NOT_RENO = (
    "PFTK is a model of Reno; NewReno and SACK repair several losses in a window without a "
    "timeout, and so are faster where losses are frequent."
)


def regular(bench: TaskRunner, p: float, sender: Sender, seconds: float) -> list[Check]:
    """Every 1/p-th packet is lost: deterministic, therefore a single replication."""
    every = round(1 / p)
    scenario = lossy("regular losses", {"model": "periodic", "every": f"{every} packets"},
                     sender.transport, rtts=[RTT], seconds=seconds, replications=1)  # fmt: skip
    [found] = windows(bench.run(scenario), [RTT])
    law = regular_aimd(p, sender.per_ack)
    left_out = 4 if sender.delays else 3
    tolerance = left_out / window_at_loss(p, sender.per_ack) * law
    return [
        Check(f"{sender.name}, every {every}th packet lost", "square-root law, sqrt(3/(2bp))",
              Estimate.of(found), law, tolerance, SAW_TOOTH, unit="packets/RTT")
    ]  # fmt: skip


def random(
    bench: TaskRunner, p: float, sender: Sender, seconds: float, replications: int
) -> list[Check]:
    """Each packet is lost with probability p."""
    scenario = lossy("random losses", {"model": "random", "probability": p}, sender.transport,
                     rtts=[RTT], seconds=seconds, replications=replications)  # fmt: skip
    [found] = windows(bench.run(scenario), [RTT])
    figure = Estimate.of(found)
    what = f"{sender.name}, p = {p:g}"
    full = pftk(p, RTT, TIMEOUT, sender.per_ack)
    reno = sender.transport["recovery"] == "reno"
    checks = [
        Check(what, "PFTK, full model", figure, full, 0.25 * full, PFTK_BECAUSE,
              unit="packets/RTT", explained="" if reno else NOT_RENO, place=(sender.name, p))
    ]  # fmt: skip
    top = window_at_loss(p, sender.per_ack)
    if top >= SMALLEST_WINDOW:
        law = random_aimd(p, sender.per_ack)
        checks.append(
            Check(what, "square-root law, random losses", figure, law,
                  (3 / top + p * top / 2) * law, RANDOM, unit="packets/RTT",
                  explained=RENO if reno else "")
        )  # fmt: skip
    return checks


def tasks(effort: Effort) -> list[Task]:
    """A task per sender and loss ratio."""
    replications, events = 10, effort.pick(200, 100)
    out = []
    for sender in SENDERS:
        for p in effort.pick((1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2), (1e-3, 1e-2)):
            law = random_aimd(p, sender.per_ack)
            seconds = max(400.0, events / p * RTT / law)
            cost = PACKET_COST * replications * seconds * law / RTT
            of = partial(random, p=p, sender=sender, seconds=seconds, replications=replications)
            out.append(Task(f"{sender.name}, p = {p:g}", cost, of))
        for p in effort.pick((1e-4, 1e-3, 5e-3), (1e-3,)):
            seconds = 100 / p * RTT / regular_aimd(p, sender.per_ack)
            one = partial(regular, p=p, sender=sender, seconds=seconds)
            out.append(Task(f"{sender.name}, regular p = {p:g}", PACKET_COST * 100 / p, one))
    return out


LAWS: Mapping[str, Callable[[float, int], float]] = MappingProxyType(
    {
        "square root, random": random_aimd,
        "square root, regular": regular_aimd,
        "PFTK": lambda p, per_ack: pftk(p, RTT, TIMEOUT, per_ack),
    }
)


def draw(checks: Sequence[Check]) -> Mapping[str, Figure]:
    """Throughput by loss ratio: laws as lines, flows as points."""
    points = [(check.place, check.figure) for check in checks if check.place]
    if not points:
        return {}
    p = np.geomspace(8e-5, 6e-2, 60)
    figure, axes = panels(2)
    for panel, per_ack in zip(axes, (1, 2), strict=True):
        senders = [sender for sender in SENDERS if sender.per_ack == per_ack]
        lines = looks(len(LAWS) + len(senders))
        for (name, law), look in zip(LAWS.items(), lines, strict=False):
            panel.plot(p, [law(x, per_ack) for x in p], label=name, **look | {"marker": ""})
        for sender, look in zip(senders, lines[len(LAWS) :], strict=True):
            here = [(at, f) for (name, at), f in points if name == sender.name]
            panel.errorbar(
                [at for at, _ in here],
                [f.mean for _, f in here],
                yerr=[f.half_width or 0.0 for _, f in here],
                label=sender.name,
                **look | {"linestyle": ""},
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylabel("Packets per RTT")
        legend(panel, columns=3)
    axes[-1].set_xlabel("Probability of loss")
    return {
        "Throughput of one flow against the probability of loss; points: mean and 95% interval, "
        "lines: the laws, for a window that grows by a packet in one round trip (above) and in two "
        "(below).": figure
    }


LOSS_LAWS = Rung(
    "loss-laws",
    "the square-root law and PFTK",
    f"One flow over a link of 10 Gbit/s and a round trip of {RTT * 1e3:g} ms that loses packets at "
    "random or at regular distances. The square-root law is checked where the window at a loss is "
    f"at least {SMALLEST_WINDOW:g} packets; below that timeouts are a part of the truth, and PFTK "
    "has them.",
    tasks,
    draw=draw,
)
