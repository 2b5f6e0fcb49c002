"""Which links are no bottlenecks, and how long packets wait there.

A link that is wrongly taken for none has flows that nothing limits, so the prediction is on the
safe side: of several answers to how much a link carries, the largest counts.

- Weighted max-min fair rates, in proportion to 1/RTT and equal. How TCP divides one bottleneck
  depends on round-trip times with queues, which nobody knows before the run; it is between the two.
- Rates by the square-root law of TCP. A flow with several bottlenecks hears the signals of all, so
  it gets less at each than max-min fairness says, and others get more.
- What flows that do not yield offer, carried by every link of their routes: the links before a
  bottleneck carry what is lost there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marqueue.scenario.hybrid.bundles import Bundles, Plan
from marqueue.scenario.hybrid.progressive_filling import Array, fill
from marqueue.scenario.hybrid.square_root_law import tcp_rates

LEAST_LEFT = 0.01
"""Share of a link's rate that is left to flows that yield, even if others ask for all of it."""


@dataclass(frozen=True)
class Prediction:
    """What is expected of every link."""

    utilization: Array
    """The largest load at any time, as a share of its rate: shape [links]. It is above 1 where
    flows that do not yield offer more than the link carries."""
    wait: Array
    """Mean time that packets wait at that utilization, s: shape [links]; infinite from 1."""


def predict(plan: Plan, bundles: Bundles) -> Prediction:
    """Predicts the load of all links of a plan from its traffic."""
    capacity = np.array([float(link["rate"]) for link in plan["links"]])
    utilization, wait = np.zeros(len(capacity)), np.zeros(len(capacity))
    for active in phases(plan, bundles):
        for rates in _answers(bundles, capacity, active):
            used = bundles.crossings.loads(rates, len(capacity)) / capacity
            utilization = np.maximum(utilization, used)
            wait = np.maximum(wait, _wait(bundles, rates, capacity, used))
    return Prediction(utilization, wait)


def phases(plan: Plan, bundles: Bundles) -> list[Array]:
    """The bundles that are active between each two changes, where groups start or stop: masks of
    the shape [bundles]. Each set is there once."""
    settings = [next(iter(entry["kind"].values())) for entry in plan["traffic"]]
    entry = bundles.column("entry")
    start = np.array([given["start"] for given in settings])[entry]
    stops = [given["stop"] for given in settings]
    stop = np.array([plan["duration"] if at is None else at for at in stops])[entry]
    times = np.unique(start)
    masks = [(start <= at) & (at < stop) for at in times]
    times_of_stop = np.unique(stop[stop < plan["duration"]])
    masks += [(start <= at) & (at < stop) for at in times_of_stop]
    different = {mask.tobytes(): mask for mask in masks if mask.any()}
    return list(different.values())


def _answers(bundles: Bundles, capacity: Array, active: Array) -> Iterator[Array]:
    """Predictions of the rates of the bundles, bit/s. Those that do not yield have their part
    first: where they ask for too much, each gets a part in proportion to what it asks for."""
    crossings, links = bundles.crossings, len(capacity)
    yields = bundles.column("yields")
    wanted = np.where(active, bundles.column("wanted"), 0.0)
    offered = np.where(yields, 0.0, wanted)
    # The weight of those that ask for nothing does not matter.
    forced = fill(crossings, capacity, np.where(offered > 0, offered, 1.0), offered)
    left = np.maximum(capacity - crossings.loads(forced, links), LEAST_LEFT * capacity)
    rest = np.where(yields, wanted, 0.0)
    flows = bundles.column("flows").astype(float)
    weights = np.where(bundles.column("by_rtt"), flows / bundles.rtts, flows)
    for rates in (
        fill(crossings, left, weights, rest),
        fill(crossings, left, flows, rest),
        tcp_rates(crossings, left, weights, rest),
    ):
        yield offered + rates


def _wait(bundles: Bundles, rates: Array, capacity: Array, used: Array) -> Array:
    """The mean wait in M/G/1 (Pollaczek-Khinchine; Kleinrock, "Queueing Systems" I, section 5.6),
    s: half the rate of arrivals times the mean square of the transmission times, over 1 - load.

    Packets of a bundle arrive at a rate of ``b / (8 P)``; each takes ``8 P / C``. So each adds
    ``b 8 P / C^2``.
    """
    crossings = bundles.crossings
    bits = crossings.shares * np.repeat(rates, np.diff(crossings.first))
    squares = np.bincount(crossings.links, bits * 8 * bundles.packets, len(capacity)) / capacity**2
    free, waits = 1 - used, np.full(len(used), np.inf)
    np.divide(squares / 2, free, out=waits, where=free > 1e-9)
    return waits
