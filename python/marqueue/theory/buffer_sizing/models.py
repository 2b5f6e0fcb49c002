"""Utilization and loss that models predict for a buffer.

- Gaussian: windows are independent and their sum is normal; the link idles while the sum is below
  the bandwidth-delay product (Appenzeller, Keslassy and McKeown, SIGCOMM 2004): utilization >=
  erf(3 sqrt(3) / (2 sqrt(2)) B sqrt(N) / (C RTT + B)).
- Poisson: the buffer is so small that within a round trip arrivals are random: M/D/1/B loses
  p(rho), TCP has W = sqrt(3 / (2 p)), rho = N W / (C RTT) (Raina and Wischik, NGI 2005).
- Fixed points of AQMs, which do not tell how far the queue oscillates around them.
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
"""Under droptail fewer flows are synchronized."""

TIMEOUTS = 4.0
"""Packets: smaller windows seldom bring three duplicate ACKs, and the square root law fails."""

TARGET = 0.005
"""CoDel's target, s."""


@dataclass(frozen=True)
class Prediction:
    """A prediction; None for a quantity about which the model makes no statement."""

    utilization: float | None
    loss: float | None
    model: str
    doubt: str
    """The model's assumption, or why there is no prediction."""


def predict(demand: Demand, buffer: int) -> Prediction:
    """The prediction for a buffer, packets, under the AQM of ``demand``."""
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
        return Prediction(None, None, "none", f"fewer than {INDEPENDENT} flows may be synchronized")
    if buffer < demand.pipe / math.sqrt(demand.flows) / 3:
        return _poisson(demand, buffer)
    reach = 3 * math.sqrt(3) / (2 * math.sqrt(2))
    filled = math.erf(reach * buffer * math.sqrt(demand.flows) / (demand.pipe + buffer))
    return Prediction(filled, _sqrt(demand, buffer), "Gaussian", "windows are independent")


def _sqrt(demand: Demand, buffer: int) -> float | None:
    """The loss ratio at which windows fill pipe and buffer, W = sqrt(3 / (2 p))."""
    window = (demand.pipe + buffer) / demand.flows
    return None if window < TIMEOUTS else min(1.0, 1.5 / window**2)


def _poisson(demand: Demand, buffer: int) -> Prediction:
    if demand.window < TIMEOUTS:
        return Prediction(
            None, None, "none", f"windows below {TIMEOUTS:g} packets: timeouts prevail"
        )
    # At a load of 2 the queue loses more than TCP does at its window; at a loss ratio of 1, less.
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
        "arrivals within a round trip are random: sources are slow or paced",
    )


def red_thresholds(buffer: int) -> tuple[float, float]:
    """min_th and max_th, packets: gentle RED reaches probability 1 at a full buffer."""
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
        1.0,
        0.0,
        "fixed point",
        f"queue {queue:.0f} packets, if oscillations do not empty or fill it",
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
    together = "; flows are synchronized" if found.h.mean > 10 else ""
    return Prediction(
        found.utilization.mean,
        float(lost),
        "chain",
        f"equal round-trip times, h = {found.h.mean:.2g}{together}; the AQM's own buffer of "
        f"{found.buffer} packets applies too",
    )
