"""Measures of the common TCP evaluation suite beside those of :mod:`marqueue.evaluation.measures`.

RFC 5166, section 2, lists what they are examples of: throughput, delay and loss (2.1), the response
to changes (2.2.1), oscillations (2.2.2), fairness and convergence (2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from marqueue.evaluation.measures import (
    BOTTLENECK,
    LOSS,
    UTILIZATION,
    Measure,
    delay,
    delay_p99,
    goodput,
    goodput_of,
    of_link,
)
from marqueue.evaluation.run_data import DEPART, RunData
from marqueue.evaluation.tcpeval.network import MEAN
from marqueue.results import Result
from marqueue.statistics.estimates import Floats

BACK = "back"
LITTLE = 0.001


def _loss(link: str, run: RunData) -> Floats:
    return np.maximum(run.result.link(link).values("loss_ratio"), LITTLE)


def notable_loss(link: str = BOTTLENECK) -> Measure:
    """Loss ratio of a link, as if it were at least 0.1%."""
    where = "" if link == BOTTLENECK else f", {link}"
    return Measure(f"notable loss{where}", f"Loss ratio{where}, if above 0.1%", "",
                   partial(_loss, link))  # fmt: skip


def _completion(run: RunData) -> Floats:
    """Median completion time of flows of at most the mean size that began in the measured time."""
    found = []
    for flows in run.result.flow_sets():
        chosen = (flows.size > 0) & (flows.size <= MEAN) & (flows.start >= flows.begin)
        times = np.where(np.isfinite(flows.fct), flows.fct, np.inf)[chosen]
        found.append(np.median(times) if len(times) else np.nan)
    return np.array(found)


COMPLETION = Measure("completion", f"Completion time of flows up to {MEAN} packets, median", "s",
                     _completion)  # fmt: skip


def _throughput_variation(run: RunData) -> Floats:
    """Standard deviation over mean of the link's throughput between samples (RFC 5166, 2.2.2)."""
    time, busy = run.result.link(BOTTLENECK).series("utilization")
    begin, _ = run.result.span()
    there = busy[:, time > begin]
    with np.errstate(divide="ignore", invalid="ignore"):
        variation: Floats = there.std(axis=1) / there.mean(axis=1)
    return variation


VARIATION = Measure("variation", "Throughput, coefficient of variation over 100 ms", "",
                    _throughput_variation)  # fmt: skip
DELAY_STD = of_link("delay_std", "Queueing delay, standard deviation")

CENTRAL = (UTILIZATION, LOSS, notable_loss(), delay(), delay_p99(), DELAY_STD, VARIATION, goodput())
"""The metrics of section 4.5 for the central link."""
BACKWARD = (
    of_link("utilization", "Utilization, back", link=BACK),
    of_link("loss_ratio", "Loss ratio, back", link=BACK),
    notable_loss(BACK),
    delay(link=BACK),
)
"""The same in the other direction."""


def _over(reduce: Callable[..., Floats], run: RunData, groups: Sequence[str]) -> Floats:
    """The sum or the mean of the goodputs of groups, bit/s."""
    return reduce([goodput_of(run, group) for group in groups], axis=0)


def sum_of(name: str, groups: Sequence[str]) -> Measure:
    """The goodput of some groups together."""

    def of(run: RunData) -> Floats:
        return _over(np.sum, run, groups)

    return Measure(f"goodput of {name}", f"Goodput, {name}", "Mbit/s", of, 1e-6)


def ratio(name: str, label: str, above: Sequence[str], below: Sequence[str]) -> Measure:
    """The mean goodput of some groups over the mean goodput of others."""

    def of(run: RunData) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return _over(np.mean, run, above) / _over(np.mean, run, below)

    return Measure(name, label, "", of)


def _weaker(first: str, second: str, run: RunData) -> Floats:
    one, two = goodput_of(run, first), goodput_of(run, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.minimum(one, two) / np.maximum(one, two)
    return found


def weaker(first: str, second: str) -> Measure:
    """The lower of two goodputs over the higher one."""
    return Measure("weaker over stronger", "Weaker over stronger goodput", "",
                   partial(_weaker, first, second))  # fmt: skip


def delivery_time(group: str, packets: int, link: str) -> Measure:
    """From the start of a group's only flow until this many of its packets, all in order, were
    on a recorded link at its receiver, s; infinite if they were not (5.2.3)."""

    def of(run: RunData) -> Floats:
        traced = run.packets(link)
        found = []
        for r, (flows, of_group) in enumerate(
            zip(run.result.flow_sets(group=group), run.flows_of(group), strict=True)
        ):
            there = (traced.kind[r] == DEPART) & np.isin(traced.flow[r], of_group)
            there &= ~traced.ack[r] & (traced.seq[r] < packets)
            # Times are in order, so the first of each number is when it first left.
            numbers, first = np.unique(traced.seq[r][there], return_index=True)
            complete = len(numbers) >= packets
            last = traced.time[r][there][first].max() if complete else np.inf
            found.append(last - flows.start[0])
        return np.array(found)

    return Measure(f"delivery of {packets}", f"Time until {packets} packets arrived", "s", of)


def _windows(result: Result, r: int) -> tuple[Floats, Floats]:
    """Times and windows of the traced flow of a replication."""
    table = result.to_arrow("tcp")
    mine = table["replication"].to_numpy() == r
    return table["t"].to_numpy()[mine], table["cwnd"].to_numpy()[mine]


def time_to_window(share: float, pipe: float) -> Measure:
    """From the end of the warm-up until the traced flow's window is this share of the pipe,
    packets; infinite if it never is (5.3.3)."""

    def of(run: RunData) -> Floats:
        since, _ = run.result.span()
        return np.array([
            _first(*_windows(run.result, r), share * pipe, since) - since
            for r in range(run.result.replications)
        ])  # fmt: skip

    return Measure(f"window {share:.0%}", f"Time until the window is {share:.0%} of the pipe", "s",
                   of)  # fmt: skip


def _first(times: Floats, windows: Floats, least: float, since: float) -> float:
    """The first time from ``since`` on at which the window is at least ``least``."""
    at = np.searchsorted(times, since, side="right") - 1
    if at >= 0 and windows[at] >= least:
        return since
    later = np.flatnonzero((times > since) & (windows >= least))
    return float(times[later[0]]) if len(later) else np.inf


def greatest_step(pipe: float, rtt: float, share: float = 0.9) -> Measure:
    """The largest growth of the window in a round-trip time, s, as a share of the pipe, from the
    end of the warm-up until it is ``share`` of the pipe (5.3.3)."""

    def of(run: RunData) -> Floats:
        since, _ = run.result.span()
        found = []
        for r in range(run.result.replications):
            times, windows = _windows(run.result, r)
            end = min(_first(times, windows, share * pipe, since), float(run.result.edges[-1]))
            ticks = np.arange(since, end + rtt, rtt)
            values = windows[np.maximum(np.searchsorted(times, ticks, side="right") - 1, 0)]
            found.append(max(np.diff(values).max(initial=0.0), 0.0) / pipe)
        return np.array(found)

    return Measure("step", "Largest growth of the window in a round trip, in pipes", "", of)


def lost_packets(groups: Sequence[str], size: int) -> Measure:
    """Packets of unresponsive groups of packets of ``size`` bytes that never arrived. They begin
    after the warm-up and end before the run does, so that none is under way (5.3.3)."""

    def of(run: RunData) -> Floats:
        lost = [
            [each.totals["sent"] - each.delivered.sum() / size
             for each in run.result.flow_sets(group=group)]
            for group in groups
        ]  # fmt: skip
        total: Floats = np.sum(lost, axis=0)
        return total

    return Measure("lost cross traffic", "Packets of the cross traffic that were dropped",
                   "packets", of)  # fmt: skip
