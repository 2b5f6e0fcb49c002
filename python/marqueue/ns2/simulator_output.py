"""Measurements of one simulator in a window, and the tolerances between two simulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from marqueue.ns2.case import Case
from marqueue.ns2.simulator import Run
from marqueue.results import Result
from marqueue.results.flows import Flows
from marqueue.statistics.estimates import Estimate

#: Goodputs of a kind of flows of which there are none.
NOTHING = Estimate(0.0, None, 1)


@dataclass(frozen=True)
class SimulatorOutput:
    """Estimates over seeds in one window of the bottleneck."""

    begin: float
    end: float
    utilization: Estimate
    queue: Estimate
    """Queue, packets, without the packet in transmission."""
    loss: Estimate
    """Lost packets / arrivals."""
    marks: Estimate
    """Packets marked."""
    tcp: Estimate = NOTHING
    """Goodput of long TCP flows, in order, as a share of the link's rate."""
    udp: Estimate = NOTHING
    """Goodput of constant-rate flows as a share of the link's rate."""

    @property
    def span(self) -> str:
        """Begin and end of the window, as text."""
        return f"{self.begin:g}-{self.end:g} s"


#: Figures of the link, with their names in results.
FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "utilization": "utilization",
        "queue": "queue_mean",
        "loss": "loss_ratio",
        "marks": "marks",
    }
)

#: Goodputs of the two kinds of flows, by kind in results; compared if there are both.
SHARES: Mapping[str, str] = MappingProxyType({"tcp": "tcp", "udp": "cbr"})

BECAUSE: Mapping[str, str] = MappingProxyType(
    {
        "utilization": "A hundredth of the capacity: less than any conclusion rests on.",
        "queue": "15% or 2 packets: as much as ns-2's own rounding moves a queue by who comes "
        "first of packets that arrive together (docs/validation.md, Ties).",
        "loss": "25% or 0.002: a loss rate goes as the window to the power of -2, so that it moves "
        "by a quarter where the mean window moves by an eighth.",
        "marks": "25% or 0.002 of the packets: as for losses.",
        "tcp": "A hundredth of the capacity, as for utilization; where TCP gets so little that "
        "this would be more than 25% of it, 25% or 0.002, as for losses, which decide what it "
        "gets.",
        "udp": "A hundredth of the capacity, as for utilization.",
    }
)


def tolerances(case: Case, there: SimulatorOutput) -> dict[str, float]:
    """The tolerance of each figure."""
    packets = case.rate * (there.end - there.begin) / (8 * case.segment)
    shares = {"tcp": min(0.01, max(0.25 * there.tcp.mean, 0.002)), "udp": 0.01}
    return {
        "utilization": 0.01,
        "queue": max(0.15 * there.queue.mean, 2.0),
        "loss": max(0.25 * there.loss.mean, 0.002),
        "marks": max(0.25 * there.marks.mean, 0.002 * packets),
    } | (shares if case.cbr else {})


def disagreements(case: Case, here: SimulatorOutput, there: SimulatorOutput) -> list[str]:
    """The figures whose means differ by more than the tolerance."""
    return [
        f"{figure}: {a:.5g} here, {b:.5g} in ns-2"
        for figure, most in tolerances(case, there).items()
        for a, b in [(getattr(here, figure).mean, getattr(there, figure).mean)]
        if abs(a - b) > most
    ]


def ns2_output(runs: Sequence[Run]) -> list[SimulatorOutput]:
    """Estimates of ns-2 by window, from one run per seed."""
    return [
        SimulatorOutput(
            windows[0].begin,
            windows[0].end,
            **{
                name: Estimate.of([getattr(w, name) for w in windows])
                for name in (*FIGURES, *SHARES)
            },
        )
        for windows in zip(*(run.windows for run in runs), strict=True)
    ]


def marqueue_output(case: Case, result: Result) -> list[SimulatorOutput]:
    """Estimates of marqueue by window."""
    edges = [0.0, *case.edges, case.duration]
    return [
        SimulatorOutput(
            begin,
            end,
            **{name: Estimate.of(result.link().values(f, w)) for name, f in FIGURES.items()},
            **{
                name: Estimate.of([_share(case, f, kind) for f in result.flow_sets(w)])
                for name, kind in SHARES.items()
            },
        )
        for w, (begin, end) in enumerate(pairwise(edges))
    ]


def _share(case: Case, flows: Flows, kind: str) -> float:
    """Goodput of the endless flows of a kind as a share of the link's rate."""
    got = flows.delivered[(flows.kind == kind) & (flows.size == 0)].sum()
    return float(8 * got / (case.rate * (flows.end - flows.begin)))
