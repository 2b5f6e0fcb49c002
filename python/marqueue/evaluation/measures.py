"""What is measured of a run: one value per replication (RFC 7928, section 2).

Latency is the queueing delay at the bottleneck, from arrival to the start of transmission; what
else a packet's delay consists of does not depend on the AQM. Its variation of a flow is that of
RFC 5481, section 4.2 (PDV): the delay above the smallest delay of the flow's packets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from marqueue.evaluation.criterion import Values
from marqueue.evaluation.run_data import NotRecorded, RunData
from marqueue.results.flows import Flows
from marqueue.statistics.estimates import Floats, jain, quantile

BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Measure:
    """A measure of a run, with the unit in which it is shown."""

    name: str
    label: str
    unit: str
    of: Callable[[RunData], Floats]
    """One value per replication, in base units (s, bit/s, shares)."""
    scale: float = 1.0

    def take(self, run: RunData) -> Values:
        """The values of a run; none, with the reason, of what it did not record."""
        try:
            return Values(self.label, self.unit, self.scale, self.of(run))
        except NotRecorded as reason:
            return Values(self.label, self.unit, self.scale, np.empty(0), str(reason))


def _on_link(figure: str, link: str, window: int | None, run: RunData) -> Floats:
    return run.result.link(link).values(figure, window)


def of_link(
    figure: str,
    label: str,
    *,
    link: str = BOTTLENECK,
    window: int | None = None,
    phase: str = "",
) -> Measure:
    """A figure of a link (:meth:`marqueue.results.link.Link.figures`)."""
    delay = figure.startswith("delay")
    name = figure + (f" at {link}" if link != BOTTLENECK else "") + (f", {phase}" if phase else "")
    return Measure(
        name,
        label + (f", {phase}" if phase else ""),
        "ms" if delay else "",
        partial(_on_link, figure, link, window),
        1e3 if delay else 1.0,
    )


def delay(phase: str = "", window: int | None = None, link: str = BOTTLENECK) -> Measure:
    """Mean queueing delay."""
    label = "Queueing delay, mean" + (f", {link}" if link != BOTTLENECK else "")
    return of_link("delay_mean", label, link=link, window=window, phase=phase)


def delay_p99(phase: str = "", window: int | None = None) -> Measure:
    """99th percentile of the queueing delay."""
    return of_link("delay_p99", "Queueing delay, p99", window=window, phase=phase)


LOSS = of_link("loss_ratio", "Loss ratio")
MARKS = of_link("mark_ratio", "Mark ratio")
UTILIZATION = of_link("utilization", "Utilization")
JITTER = Measure(
    "jitter", "Delay variation of consecutive packets", "ms",
    partial(_on_link, "jitter", BOTTLENECK, None), 1e3,
)  # fmt: skip


def _goodput(flows: Flows) -> float:
    return float(8.0 * flows.delivered.sum() / (flows.end - flows.begin))


def goodput_of(run: RunData, group: str | None = None, window: int | None = None) -> Floats:
    """Goodput of all flows, or of those of a group, bit/s."""
    return np.array([_goodput(each) for each in run.result.flow_sets(window, group=group)])


def goodput(group: str | None = None, phase: str = "", window: int | None = None) -> Measure:
    """Goodput of all flows, or of a group."""
    name = "goodput" + (f" of {group}" if group else "") + (f", {phase}" if phase else "")
    label = "Goodput" + (f", {group}" if group else "") + (f", {phase}" if phase else "")
    return Measure(name, label, "Mbit/s", lambda run: goodput_of(run, group, window), 1e-6)


def fairness(group: str | None = None) -> Measure:
    """Jain's index of the goodputs of unlimited flows."""

    def of(run: RunData) -> Floats:
        return np.array([jain(each.long_rates) for each in run.result.flow_sets(group=group)])

    return Measure("jain", "Jain's index", "", of)


def share(name: str, label: str, above: str, below: str) -> Measure:
    """The goodput of one group over that of another."""

    def of(run: RunData) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = goodput_of(run, above) / goodput_of(run, below)
        return ratio

    return Measure(name, label, "", of)


def _finished(flows: Flows) -> Floats:
    """Completion times, s; infinity for flows that did not finish."""
    began = (flows.size > 0) & (flows.begin <= flows.start)
    return np.where(np.isfinite(flows.fct), flows.fct, np.inf)[began]


def completion(groups: Sequence[str], label: str = "Flow completion time, mean") -> Measure:
    """Mean flow completion time of finite flows in these groups; infinite if one did not finish."""

    def of(run: RunData) -> Floats:
        sets = [run.result.flow_sets(group=group) for group in groups]
        return np.array(
            [
                float(np.concatenate([_finished(f) for f in each]).mean())
                for each in zip(*sets, strict=True)
            ]
        )

    return Measure("completion", label, "s", of)


def page_load(pages: Sequence[str]) -> Measure:
    """Mean time from the start of a page to the end of its last connection; RFC 7928, section 2.1.

    Each page is a group of flows that start together.
    """

    def load(flows: Flows) -> float:
        ends = flows.start + np.where(np.isfinite(flows.fct), flows.fct, np.inf)
        return float(ends.max() - flows.start.min())

    def of(run: RunData) -> Floats:
        sets = [run.result.flow_sets(group=page) for page in pages]
        return np.array(
            [np.mean([load(page) for page in each]) for each in zip(*sets, strict=True)]
        )

    return Measure("page load", "Page load time, mean", "s", of)


STARTUP = Measure("startup", "Flow startup time, mean", "ms", lambda run: run.startup_times(), 1e3)
"""From the start of a flow to the end of its handshake, when data may leave (RFC 7928, 2.2)."""


def packet_loss(group: str, link: str = BOTTLENECK) -> Measure:
    """Packets of a group that the link dropped, as a share of those that arrived."""
    return Measure(
        f"loss of {group}", f"Loss ratio, {group}", "",
        lambda run: run.packets(link).loss_ratio(run.flows_of(group)),
    )  # fmt: skip


def delay_variation(group: str, link: str = BOTTLENECK) -> Measure:
    """99th percentile of the packet delay variation of the flows of a group (RFC 5481, 4.2)."""

    def of(run: RunData) -> Floats:
        return np.array(
            [
                quantile(delays - delays.min(initial=np.inf), 0.99)
                for delays in run.packets(link).delays(run.flows_of(group))
            ]
        )

    return Measure(f"pdv of {group}", f"Packet delay variation, p99, {group}", "ms", of, 1e3)


def loss_gap(group: str, link: str = BOTTLENECK) -> Measure:
    """Mean time between losses of a group (RFC 7928, section 2.3); infinite without two losses."""

    def of(run: RunData) -> Floats:
        times = run.packets(link).loss_times(run.flows_of(group))
        return np.array([np.diff(each).mean() if len(each) > 1 else np.nan for each in times])

    return Measure(f"loss gap of {group}", f"Time between losses, {group}", "s", of)


def synchronization(group: str, rtt: float, link: str = BOTTLENECK) -> Measure:
    """Global synchronization ratio (RFC 7928, section 2.4): the mean share of a group's flows that
    lose packets in a loss event. An event ends with a round-trip time, s, without losses."""

    def of(run: RunData) -> Floats:
        return run.packets(link).synchronization(run.flows_of(group), rtt)

    return Measure("synchronization", "Loss synchronization", "", of)


def _flow_rates(period: float, link: str, run: RunData) -> list[Floats]:
    begin, _ = run.result.span()
    return run.packets(link).rates(run.of_kind("tcp"), begin, period)


def flow_rates(period: float, link: str = BOTTLENECK) -> tuple[Measure, Measure]:
    """The 5th percentile and the coefficient of variation of the rate of a TCP flow in a period, s,
    over all flows and periods (RFC 7928, section 2.7, with ten smallest round trips)."""

    def lowest(run: RunData) -> Floats:
        return np.array([
            quantile(each, 0.05) if len(each) else np.nan
            for each in _flow_rates(period, link, run)
        ])  # fmt: skip

    def variation(run: RunData) -> Floats:
        return np.array([
            each.std() / each.mean() if len(each) else np.nan
            for each in _flow_rates(period, link, run)
        ])  # fmt: skip

    of = f"Rate of a TCP flow over {period:g} s"
    return (
        Measure("flow rate p5", f"{of}, 5th percentile", "Mbit/s", lowest, 1e-6),
        Measure("flow rate variation", f"{of}, coefficient of variation", "", variation),
    )
