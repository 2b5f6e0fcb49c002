"""Utilization and loss that models state for a buffer. What each assumes is in its :class:`Model`.

For droptail:

- rule of thumb: a window that is halved at a full buffer of C RTT still fills the link.
- Gaussian: windows are independent and their sum is normal; the link may idle while the sum is
  below C RTT. With windows uniform between 2/3 and 4/3 of their mean, utilization >=
  erf(3 sqrt(3) / (2 sqrt(2)) B sqrt(N) / (C RTT + B)).
- smooth: within a round trip packets arrive at random: M/D/1/B loses p(rho), TCP has W =
  sqrt(3 / (2 p)), and rho = N W / (C RTT).
- bursts: the same with pairs of packets, as senders with delayed acknowledgements release them: in
  units of pairs the queue is M/D/1/(B/2).
- square-root law: windows fill pipe and buffer, W = sqrt(3 / (2 p)).

Utilization rises and loss falls with the buffer in all of them.
"""

from __future__ import annotations

import math

import numpy as np

from marqueue._core import ChainQueue
from marqueue.theory.buffer_sizing.rules import OF_ONE, A, B, Demand
from marqueue.theory.buffer_sizing.statements import Model, Statement
from marqueue.theory.marking_chain import Model as Chain
from marqueue.theory.marking_chain import simulate

INDEPENDENT = 50
"""Under droptail fewer flows are synchronized."""

TIMEOUTS = 4.0
"""Packets: smaller windows seldom bring three duplicate ACKs, and the square root law fails."""

HALVED = 6.0
"""Packets: a smaller window has fewer than four packets after a loss event, and timeouts hold back
what the square-root law would lose."""

WIDEST = 25.0
"""Packets: with wider windows flows send longer bursts than pairs. At 50 packets the bursts model
is up to 0.11 too high."""

LEAST = 20
"""Packets: the smallest buffer whose error was measured."""

PAIR = 2
"""Packets that an acknowledgement of two segments releases (RFC 5681, 4.2)."""

TARGET, INTERVAL = 0.005, 0.1
"""CoDel's target and interval, s (RFC 8289, sections 4.2 and 4.3)."""

RULE_OF_THUMB = Model(
    "rule of thumb", "utilization", "lower bound", "Villamizar and Song 1994",
    "B of C x RTT or more", "long-lived flows that halve their windows, without timeouts",
    (-0.001, 0.0),
)  # fmt: skip
GAUSSIAN = Model(
    "Gaussian", "utilization", "lower bound", "Appenzeller, Keslassy and McKeown 2004",
    f"{INDEPENDENT} flows or more", "windows are independent", (-0.006, 0.69),
)  # fmt: skip
SMOOTH = Model(
    "smooth", "utilization", "approximation", "Raina and Wischik 2005",
    f"windows of {TIMEOUTS:g} to {WIDEST:g} packets, {LEAST} packets of buffer or more",
    "packets arrive at random within a round trip: access links are slow or sources are paced. "
    "Without that it is too high: the error is that of bursty senders", (-0.135, 0.002),
)  # fmt: skip
BURSTS = Model(
    "bursts", "utilization", "approximation", "Raina and Wischik 2005, with pairs of packets",
    SMOOTH.range, "pairs of packets arrive at random: delayed ACKs and fast access links",
    (-0.02, 0.05),
)  # fmt: skip
SQUARE_ROOT = Model(
    "square-root law", "loss", "lower bound", "Mathis, Semke, Mahdavi and Ott 1997",
    f"windows of {HALVED:g} to {WIDEST:g} packets",
    "it counts loss events, and one event loses several packets under droptail", (1.0, 3.7),
)  # fmt: skip
HELD = Model(
    "AVQ's target", "utilization", "approximation", "Kunniyur and Srikant 2004",
    "B of C x RTT / sqrt(N) or more; its gain is stable (marqueue design avq)",
    "AVQ holds gamma, and the buffer takes the bursts",
)  # fmt: skip
RED = Model(
    "fixed point", "utilization", "approximation", "Hollot, Misra, Towsley and Gong 2001",
    "where RED is stable (marqueue design red)", "the queue stays at its fixed point",
)  # fmt: skip
CODEL = Model(
    "fixed point", "utilization", "approximation", "none", "nowhere", "a constant queue",
)  # fmt: skip
CHAIN = tuple(
    Model("chain", quantity, "approximation", "Eun and Wang 2008", "the AQM scaled",
          "equal round-trip times, random arrivals within each")
    for quantity in ("utilization", "loss")
)  # fmt: skip


def predict(demand: Demand, buffer: int) -> tuple[Statement, ...]:
    """What the models of the demand's AQM state for a buffer, packets."""
    match demand.aqm:
        case "red":
            return (
                RED.omitted(
                    "whether the queue stays at the fixed point depends on stability: see "
                    "marqueue design red"
                ),
            )
        case "avq":
            return (_avq(demand, buffer),)
        case "codel":
            return _codel(demand, buffer)
        case "scaled":
            return _scaled(demand, buffer)
        case _:
            return _droptail(demand, buffer)


def _droptail(demand: Demand, buffer: int) -> tuple[Statement, ...]:
    return (
        _rule_of_thumb(demand, buffer),
        _gaussian(demand, buffer),
        _random(SMOOTH, demand, buffer, 1),
        _random(BURSTS, demand, buffer, PAIR),
        _square_root(demand, buffer),
    )


def _rule_of_thumb(demand: Demand, buffer: int) -> Statement:
    if buffer < demand.pipe:
        return RULE_OF_THUMB.omitted(f"the buffer is below C x RTT, {demand.pipe:.0f} packets")
    return RULE_OF_THUMB.states(1.0)


def _gaussian(demand: Demand, buffer: int) -> Statement:
    if demand.flows < INDEPENDENT:
        return GAUSSIAN.omitted(f"fewer than {INDEPENDENT} flows may be synchronized")
    reach = 3 * math.sqrt(3) / (2 * math.sqrt(2))
    return GAUSSIAN.states(
        math.erf(reach * buffer * math.sqrt(demand.flows) / (demand.pipe + buffer))
    )


def _random(model: Model, demand: Demand, buffer: int, burst: int) -> Statement:
    if why := _narrow(demand.window, TIMEOUTS) or _wide(demand.window):
        return model.omitted(why)
    if demand.flows < INDEPENDENT:
        return model.omitted(f"fewer than {INDEPENDENT} flows may be synchronized")
    if buffer < LEAST:
        return model.omitted(f"the buffer is below {LEAST} packets")
    # At a load of 2 the queue loses more than TCP does at its window; at a loss ratio of 1, less.
    low, high = 1.5 / (2 * demand.window) ** 2, 1.0
    for _ in range(200):
        lost = math.sqrt(low * high)
        load = math.sqrt(1.5 / lost) / demand.window
        low, high = (lost, high) if _md1(load, buffer // burst) > lost else (low, lost)
    load = math.sqrt(1.5 / low) / demand.window
    return model.states(min(1.0, load * (1 - low)))


def _md1(load: float, buffer: int) -> float:
    queue = ChainQueue(("red:2:10:0.2", 1.0, A, B, OF_ONE), "md1")
    return float(queue.loss(np.array([load]), buffer)[0])


def _square_root(demand: Demand, buffer: int) -> Statement:
    window = (demand.pipe + buffer) / demand.flows
    # The range is of the pipe's share: the buffer only makes windows larger.
    if why := _narrow(demand.window, HALVED) or _wide(demand.window):
        return SQUARE_ROOT.omitted(why)
    return SQUARE_ROOT.states(1.5 / window**2)


def _narrow(window: float, least: float) -> str:
    return f"windows below {least:g} packets: timeouts prevail" if window < least else ""


def _wide(window: float) -> str:
    return f"windows above {WIDEST:g} packets: bursts are longer" if window > WIDEST else ""


def _avq(demand: Demand, buffer: int) -> Statement:
    least = demand.pipe / math.sqrt(demand.flows)
    if buffer < least:
        return HELD.omitted(f"the buffer is below C x RTT / sqrt(N), {least:.0f} packets")
    return HELD.states(demand.gamma)


def _codel(demand: Demand, buffer: int) -> tuple[Statement, ...]:
    target = TARGET * demand.packets_per_second
    if buffer <= target:
        return _droptail(demand, buffer)
    needed = 1.5 / (demand.window + target / demand.flows) ** 2 * demand.packets_per_second
    why = (
        f"the buffer is above CoDel's target, {target:.0f} packets, where its control law sets how "
        "often it signals, not how long the queue is. While the sojourn time is above the target, "
        "the frequency of signals rises as t / (2 interval^2); the "
        f"{needed:.3g} a second that these flows need (1.5 / W^2 of all packets) come after "
        f"{codel_rise(needed, INTERVAL):.3g} s, then the queue falls and signals stop. Utilization "
        "and loss do not follow from that"
    )
    return (CODEL.omitted(why),)


def codel_rise(frequency: float, interval: float) -> float:
    """How long the sojourn time is above CoDel's target until signals have this frequency, 1/s, for
    an interval in s.

    Signal k + 1 comes interval / sqrt(k) after signal k (RFC 8289, section 3.3), so signal n comes
    after about 2 interval sqrt(n), when the frequency is sqrt(n) / interval.
    """
    return 2 * interval**2 * frequency


def _scaled(demand: Demand, buffer: int) -> tuple[Statement, ...]:
    chain = Chain(demand.flows, demand.window, A, queue="md1", b=B)
    found = simulate(chain, length=1000, warm_up=1000, replications=2)
    places = min(buffer, found.buffer)
    lost = np.dot(chain.at.loss(found.loads, places), found.loads) / found.loads.sum()
    utilization, loss = CHAIN
    return utilization.states(found.utilization.mean), loss.states(float(lost))
