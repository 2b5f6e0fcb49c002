"""Models of the size of a buffer (:mod:`marqueue.theory.buffer_sizing`) on a grid of buffers, flows
and round trips under droptail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from marqueue.design.buffer_check import scenario
from marqueue.statistics.estimates import Estimate
from marqueue.theory.buffer_sizing import Demand, Statement, predict
from marqueue.validation.check import Check
from marqueue.validation.one_flow import PACKET_COST
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

CAPACITY = 200e6
"""bit/s."""
FLOWS = (50, 100, 200, 400)
TRIPS = (0.06, 0.15)
"""Mean round trips, s: windows of 2.5 to 50 packets."""
QUICK = ((0.06, 50, 20), (0.06, 100, 100), (0.15, 100, 48), (0.15, 200, 177))
"""Round trip, flows and packets of the quick form: both sides of C RTT / sqrt(N)."""
PACKETS = 1_000_000
"""Packets of one replication: the order of magnitude, for the estimate of the time."""

ABOVE = "A lower bound: from the least error in its range (docs/theory/buffer.md) up to 1."
KNOWN = (
    "The errors that the command prints, measured on this grid: the model leaves out lengths of "
    "bursts and the fluctuation of the sum of windows."
)
BURSTS = "The law counts loss events; packets lost in one event are 1 to 3.7 times as many."
ROUNDING = 1e-9
"""A link that is never idle has a utilization of exactly 1, and the range ends there."""
WIDEST = 0.02
"""Largest half width of a decided check where the tolerance is narrower."""


def demand(rtt: float, flows: int) -> Demand:
    """The link of a point."""
    return Demand(CAPACITY, flows, rtt, 0.98, 0.01)


def grid() -> list[tuple[float, int, int]]:
    """Round trip, flows and packets: 20, 12 N^0.3, and C RTT / sqrt(N), half of it, and C RTT."""
    points = []
    for rtt in TRIPS:
        for flows in FLOWS:
            pipe = demand(rtt, flows).pipe
            root = pipe / math.sqrt(flows)
            sizes = {20.0, 12 * flows**0.3, root / 2, root, pipe}
            points += [(rtt, flows, math.ceil(size)) for size in sorted(sizes)]
    return points


def place(rtt: float, flows: int, buffer: int) -> str:
    """The name of a point in checks."""
    return f"{1e3 * rtt:g} ms, {flows} flows, {buffer} packets"


def checks(bench: TaskRunner, rtt: float, flows: int, buffer: int) -> list[Check]:
    """What each model that applies states about the point."""
    link = demand(rtt, flows)
    figures = bench.run(scenario(link, buffer)).link("bottleneck").figures()
    at = place(rtt, flows, buffer)
    return [
        _check(said, at, figures["loss_ratio" if said.model.quantity == "loss" else "utilization"])
        for said in predict(link, buffer)
        if said.value is not None
    ]


def _check(said: Statement, at: str, figure: Estimate) -> Check:
    model, value = said.model, said.value
    assert model.error is not None, "all models of droptail were measured"
    assert value is not None, "it applies"
    low, high = model.error
    if model.quantity == "loss":
        low, high, because = value * low, value * high, BURSTS
    elif model.kind == "lower bound":
        low, high, because = value + low, 1.0, ABOVE
    else:
        low, high, because = value + low, min(1.0, value + high), KNOWN
    tolerance = (high - low) / 2 + ROUNDING
    return Check(
        f"{at}: {model.quantity}", f"{model.name} {said} ({model.source})", figure,
        (low + high) / 2, tolerance, because, max(WIDEST, tolerance),
    )  # fmt: skip


def tasks(effort: Effort) -> Sequence[Task]:
    """A task per point."""
    points = effort.pick(tuple(grid()), QUICK)
    return [
        Task(place(*point), 4 * PACKETS * PACKET_COST, partial(checks, rtt=point[0],
             flows=point[1], buffer=point[2]))
        for point in points
    ]  # fmt: skip


BUFFERS = Rung(
    "buffers",
    "models of the size of a buffer",
    f"N long-lived flows over {CAPACITY / 1e6:g} Mbit/s under droptail, round trips within 40 % of "
    "their mean, delayed ACKs, access links ten times as fast, as marqueue theory buffer --check "
    "has them.",
    tasks,
)
