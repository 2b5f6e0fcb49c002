"""Measures: figures of link and flows in one of two windows, at each place of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.quantity import FIGURES, FLOWS, Quantity, Runs, side_by_side, single
from marqueue.results import Result

#: The window in which p0 has settled. All windows together are None.
SETTLED = 1


def of_link(run: Result, of: str, figure: str, window: int | None = SETTLED) -> Quantity:
    """A figure of the link."""
    taken = FIGURES[figure]
    values = [taken.value(each) * taken.scale for each in run.link().windows(window)]
    return single(taken.label, of, values, taken.unit)


def of_flows(
    run: Result, of: str, figure: str, group: str | None = None, window: int | None = SETTLED
) -> Quantity:
    """A figure of the flows of a group."""
    taken = FLOWS[figure]
    values = [taken.value(each) * taken.scale for each in run.flow_sets(window, group=group)]
    return single(taken.label, of, values, taken.unit)


def ratio(
    run: Result, of: str, what: str, first: str, second: str, window: int | None = SETTLED
) -> Quantity:
    """The ratio of the goodputs of a flow of one group and a flow of another, in bytes; ``what``
    names the groups."""
    a, b = (of_flows(run, of, "goodput_per_flow", group, window) for group in (first, second))
    return replace(a, label=f"Goodput, {what}", values=a.values / b.values, unit="")


def starved(
    run: Result, of: str, group: str | None = None, window: int | None = SETTLED
) -> Quantity:
    """Number of flows of a group that received nothing."""
    counts = [float((each.delivered == 0).sum()) for each in run.flow_sets(window, group=group)]
    return single("Flows that got nothing", of, counts, "flows")


def smallest_goodput(
    run: Result, of: str, group: str | None = None, window: int | None = SETTLED
) -> Quantity:
    """The smallest goodput of a flow of a group."""
    rates = [float(each.rates.min()) * 1e-6 for each in run.flow_sets(window, group=group)]
    return single("Goodput of the worst off", of, rates, "Mbit/s")


def fairness(run: Result, of: str, window: int | None) -> Quantity:
    """Jain's index of what all flows got, (27), of flows that start within the window too."""
    got = [each.delivered for each in run.flow_sets(window)]
    values = [float(g.sum() ** 2 / (len(g) * (g**2).sum())) for g in got]
    return single("Jain's index", of, values)


def share_above(run: Result, of: str, series: str, bound: float, window: int | None) -> Quantity:
    """The share of time for which a series of the link is above a bound."""
    begin, end = run.span(window)
    t, values = run.link().series(series)
    inside = values[:, (begin < t) & (t <= end)]
    return single(
        f"Share of time with {series} above {bound:.1f}", of, (inside > bound).mean(axis=1)
    )


def delay_by_littles_law(run: Result, of: str, window: int | None = SETTLED) -> Quantity:
    """Queueing delay by (15): mean queue / rate at which packets enter it. Packets that entered are
    the departures and one of each two matched drops."""
    windows = run.link().windows(window)
    entered = [(each.departures + each.drops["matched"] / 2) / each.seconds for each in windows]
    queue = of_link(run, of, "queue_mean", window)
    values = 1e3 * queue.values / np.array(entered)[:, np.newaxis]
    return replace(queue, label="Queueing delay by (15)", values=values, unit="ms")


def total(quantities: Sequence[Quantity], of: str) -> Quantity:
    """The sum of quantities of the same kind."""
    values = sum(each.values for each in quantities)
    return replace(quantities[0], of=of, values=np.asarray(values))


def mean_of(
    run: Result, of: str, series: str, label: str, window: int | None = SETTLED
) -> Quantity:
    """The mean of a series of the link."""
    begin, end = run.span(window)
    t, values = run.link().series(series)
    inside = (begin < t) & (t <= end)
    return single(label, of, values[:, inside].mean(axis=1))


def swept(
    runs: Runs,
    names: Mapping[float, str],
    variable: str,
    measure: Callable[..., Quantity],
    *arguments: object,
) -> Quantity:
    """A quantity measured in each of these runs, by the value of the variable."""
    parts = {place: measure(runs[name], *arguments) for place, name in names.items()}
    return side_by_side(parts, variable)
