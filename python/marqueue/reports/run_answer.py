"""What a run showed, in one sentence and a few figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marqueue.reports.builder import Cell
from marqueue.reports.run_charts import MOST_LINKS_DRAWN
from marqueue.results import FLOW_FIGURES, LINK_FIGURES
from marqueue.results.congested_links import busiest_link
from marqueue.results.link_totals import LinkTotals
from marqueue.results.summary import batched_figures
from marqueue.statistics.estimates import Estimate

if TYPE_CHECKING:
    from marqueue.results import Result

OF_LINK = ("utilization", "loss_ratio", "queue_mean", "delay_mean", "delay_p99")
OF_FLOWS = ("goodput", "jain")
FULL = 0.95
"""The utilization from which a link counts as full."""


def highlights(result: Result) -> list[tuple[str, Cell, str]]:
    """The figures that matter, each with its interval: of the busiest link, and of all flows."""
    name = busiest_link(result)
    out: list[tuple[str, Cell, str]] = []
    if name is not None:
        figures = result.link(name).figures() | batched_figures(result, [name]).get(name, {})
        out += [(f.label, f.shown(figures), f.unit) for f in LINK_FIGURES if f.name in OF_LINK]
    if not result.provenance.command:
        flows = result.traffic()
        out += [
            (f.label, f.shown(flows), f.unit)
            for f in FLOW_FIGURES
            if f.name in OF_FLOWS and flows[f.name].n
        ]
    return out


def answer(result: Result) -> str:
    """What the run showed, in one sentence."""
    name = busiest_link(result)
    parts = [] if name is None else [_of_link(result, name)]
    if len(result.links) > MOST_LINKS_DRAWN and result.measured:
        parts.append(_of_network(result))
    flows = None if result.provenance.command else result.traffic()
    if flows and name is None:
        rate = _mean(flows["goodput"].scaled(1e-6))
        parts.append(f"No link has a queue; the goodput of all flows was {rate} Mbit/s")
    if flows and flows["jain"].n:
        index = f"{flows['jain'].mean:.3f}"
        parts.append(f"Jain's index of the goodputs of long flows was {index}")
    return f"{'; '.join(parts)}."


def _of_link(result: Result, name: str) -> str:
    """Utilization, losses and delays of a link."""
    link = result.link(name)
    figures = link.figures()
    aqm = link.plan["queue"]["policy"]["name"]
    which = name
    if len(result.links) > 1:
        which = f"{name}, the busiest of {len(result.links):,} links,"
    if not figures["utilization"].n:
        return f"Nothing was measured at {which.rstrip(',')}"
    lost = figures["loss_ratio"].mean
    what = "CPU" if link.plan.get("cpu") else "link"
    parts = [
        f"Under {aqm}, the {what} {which} was {_percent(figures['utilization'].mean)} utilized",
        f"dropped {_percent(lost) if lost else 'none'} of its packets",
    ]
    delay, late = figures["delay_mean"], figures["delay_p99"]
    if delay.n:
        parts.append(
            f"delayed them by {_mean(delay.scaled(1e3))} ms on average, 99% of them by at most "
            f"{_mean(late.scaled(1e3))} ms"
        )
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _of_network(result: Result) -> str:
    """How many links were full, and how many dropped or marked packets."""
    totals = LinkTotals.of(result)
    full = int((totals.utilization >= FULL).sum())
    congested = int((totals.signals > 0).sum())
    return (
        f"{full:,} links were at least {_percent(FULL)} utilized, and {congested:,} dropped or "
        "marked packets"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _mean(estimate: Estimate) -> str:
    """The mean with the digits that it has beside its interval."""
    return str(estimate).partition(" ±")[0]
