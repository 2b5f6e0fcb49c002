"""Measures of the suite for RFC 9743 beside those of :mod:`marqueue.evaluation.measures`."""

from __future__ import annotations

import numpy as np

from marqueue.evaluation.measures import BOTTLENECK, Measure, completion, goodput_of
from marqueue.evaluation.run_data import RunData
from marqueue.statistics.estimates import Floats


def new_goodput(phase: str = "", window: int | None = None) -> Measure:
    """Goodput of the flows of the control."""
    more = f", {phase}" if phase else ""
    return Measure(
        f"goodput{more}", f"Goodput of its flows{more}", "Mbit/s",
        lambda run: goodput_of(run, "new", window), 1e-6,
    )  # fmt: skip


def equal_share(name: str, group: str, label: str, flows: int, of: float = 1.0) -> Measure:
    """The goodput of one flow of a group over an equal share of the goodput of all ``flows``;
    ``of`` is the number of flows of the group."""

    def values(run: RunData) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = goodput_of(run, group) / of / (goodput_of(run) / flows)
        return share

    return Measure(name, label, "", values)


def round_trips_of_queue(rtt: float) -> Measure:
    """Mean queueing delay over the propagation delay, s."""

    def of(run: RunData) -> Floats:
        return run.result.link(BOTTLENECK).values("delay_mean") / rtt

    return Measure("round trips of queue", "Queueing delay, mean, in round trips", "", of)


def packets_per_round_trip(rtt: float) -> Measure:
    """Packets that a flow sends in a round trip, s, over the whole run."""

    def of(run: RunData) -> Floats:
        seconds = float(run.result.edges[-1])
        sent = [each.totals["sent"] for each in run.result.flow_sets(group="new")]
        return np.array(sent, dtype=float) / seconds * rtt

    return Measure("packets per round trip", "Packets sent in a round trip", "", of)


SHORT = Measure(
    "completion", "Flow completion time of short flows, mean", "s",
    lambda run: completion(["short"]).of(run),
)  # fmt: skip
