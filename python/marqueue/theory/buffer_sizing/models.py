"""What models say of a buffer: utilization and loss, or that they say nothing, and why.

- Gaussian: windows are independent, their sum is normal, and the link idles when it is less than
  the pipe (Appenzeller, Keslassy and McKeown, SIGCOMM 2004):
  utilization >= erf(3 sqrt(3) / (2 sqrt(2)) B sqrt(N) / (C RTT + B)).
- Poisson: the buffer is so small that within a round trip only arrivals at random matter: M/D/1/B
  loses p(rho), TCP answers W = sqrt(3 / (2 p)), rho = N W / (C RTT) (Raina and Wischik, NGI 2005).
- Fixed points of AQMs, which say nothing of how far the queue swings around them.
- The chain of Eun and Wang (:mod:`marqueue.theory.marking_chain`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marqueue._core import ChainQueue
from marqueue.theory.buffer_sizing.rules import OF_ONE, A, B, Demand
from marqueue.theory.marking_chain import Model, simulate

INDEPENDENT = 50
"""Fewer flows move together under droptail."""

TIMEOUTS = 4.0
"""Packets: with smaller windows three duplicates are rare, and the square root law is none."""

TARGET = 0.005
"""Of CoDel, s."""


@dataclass(frozen=True)
class Prediction:
    """None is what a model does not say."""

    utilization: float | None
    loss: float | None
    model: str
    doubt: str
    """What it rests on, or why it says nothing."""


def predict(demand: Demand, buffer: int) -> Prediction:
    """Of a buffer under the AQM that is asked for."""
    match demand.aqm:
        case "red":
            return _red(demand, buffer)
        case "avq":
            lost = _md1(demand.gamma, buffer)
            return Prediction(
                demand.gamma * (1 - lost),
                lost,
                "fixed point",
                "AVQ holds gamma if its gain is stable; Poisson arrivals within a round trip",
            )
        case "codel":
            return _codel(demand, buffer)
        case "scaled":
            return _scaled(demand, buffer)
        case _:
            return _droptail(demand, buffer)


def _md1(load: float, buffer: int) -> float:
    queue = ChainQueue(("red:2:10:0.2", 1.0, A, B, OF_ONE), "md1")
    return float(queue.loss(np.array([load]), buffer)[0])


def _droptail(demand: Demand, buffer: int) -> Prediction:
    if demand.flows < INDEPENDENT:
        if buffer >= demand.pipe:
            return Prediction(
                1.0, _sqrt(demand, buffer), "rule of thumb", "one window, halved, fills the pipe"
            )
        return Prediction(
            None, None, "none", f"fewer than {INDEPENDENT} flows halve together, or not"
        )
    if buffer < demand.pipe / math.sqrt(demand.flows) / 3:
        return _poisson(demand, buffer)
    reach = 3 * math.sqrt(3) / (2 * math.sqrt(2))
    filled = math.erf(reach * buffer * math.sqrt(demand.flows) / (demand.pipe + buffer))
    return Prediction(filled, _sqrt(demand, buffer), "Gaussian", "windows are independent")


def _sqrt(demand: Demand, buffer: int) -> float | None:
    """The loss at which windows fill pipe and buffer, W = sqrt(3 / (2 p))."""
    window = (demand.pipe + buffer) / demand.flows
    return None if window < TIMEOUTS else min(1.0, 1.5 / window**2)


def _poisson(demand: Demand, buffer: int) -> Prediction:
    if demand.window < TIMEOUTS:
        return Prediction(None, None, "none", f"windows below {TIMEOUTS:g} packets: timeouts rule")
    # At a load of 2 the queue loses more than TCP answers, at a loss of 1 less.
    low, high = 1.5 / (2 * demand.window) ** 2, 1.0
    for _ in range(200):
        lost = math.sqrt(low * high)
        load = math.sqrt(1.5 / lost) / demand.window
        low, high = (lost, high) if _md1(load, buffer) > lost else (low, lost)
    load = math.sqrt(1.5 / low) / demand.window
    return Prediction(
        min(1.0, load * (1 - low)),
        low,
        "Poisson",
        "arrivals within a round trip are at random: sources are slow or paced",
    )


def red_thresholds(buffer: int) -> tuple[float, float]:
    """min_th and max_th, packets: gentle RED reaches 1 where the buffer is full."""
    return max(1.0, buffer / 6), max(2.0, buffer / 2)


def _red(demand: Demand, buffer: int) -> Prediction:
    low, high = red_thresholds(buffer)

    def marked(queue: float) -> float:
        first = 0.1 * (queue - low) / (high - low)
        return min(max(first, 0.0), 0.1) if queue <= high else 0.1 + 0.9 * (queue - high) / high

    queue, top = 0.0, 2 * high
    for _ in range(100):
        middle = (queue + top) / 2
        window = (demand.pipe + middle) / demand.flows
        queue, top = (middle, top) if marked(middle) < 1.5 / window**2 else (queue, middle)
    window = (demand.pipe + queue) / demand.flows
    if queue > 0.99 * buffer or window < TIMEOUTS:
        return Prediction(None, None, "none", "no fixed point inside the buffer with windows of 4")
    return Prediction(
        1.0, 0.0, "fixed point", f"queue {queue:.0f} packets, if it does not swing to empty or full"
    )


def _codel(demand: Demand, buffer: int) -> Prediction:
    target = TARGET * demand.packets_per_second
    if buffer <= target:
        found = _droptail(demand, buffer)
        return Prediction(
            found.utilization,
            found.loss,
            found.model,
            f"a full buffer is below CoDel's target, {target:.0f} packets: droptail; {found.doubt}",
        )
    return Prediction(None, None, "none", "CoDel's control law has no fixed point of its queue")


def _scaled(demand: Demand, buffer: int) -> Prediction:
    model = Model(demand.flows, demand.window, A, queue="md1", b=B)
    found = simulate(model, length=1000, warm_up=1000, replications=2)
    places = min(buffer, found.buffer)
    lost = np.dot(model.at.loss(found.loads, places), found.loads) / found.loads.sum()
    together = "; flows move together" if found.h.mean > 10 else ""
    return Prediction(
        found.utilization.mean,
        float(lost),
        "chain",
        f"all round trips alike, h = {found.h.mean:.2g}{together}; the AQM's own buffer of "
        f"{found.buffer} packets holds too",
    )
