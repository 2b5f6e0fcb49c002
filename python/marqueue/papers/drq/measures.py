"""Measures: goodputs of classes relative to the optimum, and shares of CPU and link."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from marqueue.papers.drq.optimum import sharing
from marqueue.papers.drq.setups import CLASSES, SCHEMES, label
from marqueue.papers.quantity import FIGURES, FLOWS, Quantity, Runs, side_by_side, single
from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.proportional_fairness import Optimum, proportionally_fair

LINK, CPU = "bottleneck", "bottleneck/cpu"


def of_link(run: Result, of: str, figure: str, link: str = LINK) -> Quantity:
    """A figure of a link or CPU."""
    taken = FIGURES[figure]
    # The utilization of a resource that is always busy differs from 1 by rounding.
    values = [round(taken.value(w) * taken.scale, 8) for w in run.link(link).windows()]
    what = "the CPU" if link.endswith("/cpu") else "the link"
    return single(f"{taken.label} of {what}", of, values, taken.unit)


def of_flows(run: Result, of: str, figure: str, group: str | None = None) -> Quantity:
    """A figure of the flows of a group."""
    taken = FLOWS[figure]
    values = [taken.value(each) * taken.scale for each in run.flow_sets(group=group)]
    return single(taken.label, of, values, taken.unit)


def rate(run: Result, of: str, group: str) -> Quantity:
    """Mean goodput of a flow of a group, Mbit/s."""
    return of_flows(run, of, "goodput_per_flow", group)


def total(run: Result, of: str, groups: Sequence[str]) -> Quantity:
    """Goodput of all flows of these groups, Mbit/s."""
    parts = [of_flows(run, of, "goodput", group) for group in groups]
    return replace(parts[0], values=np.sum([part.values for part in parts], axis=0))


def share(run: Result, of: str, group: str, link: str = CPU) -> Quantity:
    """The share of a group in the capacity of a CPU or link."""
    values = [each.groups[group] / each.capacity for each in run.link(link).windows()]
    return single("Share of the CPU", of, values)


def spread(run: Result, of: str, groups: Sequence[str] = CLASSES) -> Quantity:
    """Ratio of the largest to the smallest mean goodput of the groups."""
    means = np.hstack([rate(run, of, group).values for group in groups])
    with np.errstate(divide="ignore"):  # A group without goodput makes the ratio infinite.
        ratios = means.max(axis=1) / means.min(axis=1)
    return single("Largest mean goodput over smallest", of, ratios)


def half_widths_off(run: Result, of: str, group: str, optimum: float) -> Quantity:
    """Distance of a group's mean goodput from ``optimum``, Mbit/s, in half widths of the 95%
    interval over its flows."""
    values = []
    for each in run.flow_sets(group=group):
        rates = each.rates * 1e-6
        half = student.ppf(0.975, len(rates) - 1) * rates.std(ddof=1) / np.sqrt(len(rates))
        # Flows that all get nothing have no interval.
        values.append(abs(rates.mean() - optimum) / half if half > 0 else np.inf)
    return single("Half widths off the optimum", of, values)


def over_optimum(quantity: Quantity, optimum: Sequence[float] | Floats) -> Quantity:
    """A quantity divided by its optimum."""
    values = quantity.values / np.asarray(optimum)
    return replace(quantity, label=f"{quantity.label}, over optimum", values=values, unit="")


def difference_from_optimum(quantity: Quantity, optimum: Sequence[float]) -> Quantity:
    """A quantity minus its optimum."""
    values = quantity.values - np.array(optimum)
    return replace(quantity, label=f"{quantity.label}, less optimum", values=values)


def difference(first: Quantity, second: Quantity, label: str) -> Quantity:
    """The first quantity minus the second, in each replication."""
    return replace(first, label=label, values=first.values - second.values)


def quotient(first: Quantity, second: Quantity, label: str) -> Quantity:
    """The first quantity divided by the second, in each replication."""
    return replace(first, label=label, values=first.values / second.values, unit="")


def line(like: Quantity, values: Sequence[float], label: str = "") -> Quantity:
    """A theoretical quantity at the places of ``like``."""
    return replace(like, label=label or like.label, values=np.array([values]))


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


def scenario(run: Result) -> Scenario:
    """The scenario of a run."""
    return from_dict(run.scenario)


def optima(runs: Runs, names: Mapping[float, str], **given: Mapping[str, float]) -> list[Optimum]:
    """The optimum of each of these set-ups."""
    return [proportionally_fair(sharing(scenario(runs[n]), **given)) for n in names.values()]


def mbits(found: Sequence[Optimum], group: str) -> list[float]:
    """The rate of a flow of a group at these optima, Mbit/s."""
    return [each.rate(group) * 1e-6 for each in found]


def name(scheme: str, place: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{place:g}"


def named(scheme: str, places: Sequence[float]) -> dict[float, str]:
    """The set-ups of a scheme along a sweep."""
    return {float(place): name(scheme, place) for place in places}


def classes(
    runs: Runs,
    places: Sequence[float],
    variable: str,
    found: Sequence[Optimum],
    schemes: Sequence[str] = SCHEMES,
    groups: Sequence[str] = CLASSES,
) -> dict[str, Quantity]:
    """For sweeps over dumbbells, by scheme: goodputs of classes, the same relative to the optimum,
    and utilization of both resources."""
    out = {}
    for scheme in schemes:
        names = named(scheme, places)
        for group in groups:
            of, best = f"w = {group}", mbits(found, group)
            goodput = swept(runs, names, variable, rate, of, group)
            out[f"rate.{scheme}.{group}"] = goodput
            out[f"optimum.{group}"] = line(goodput, best)
            out[f"ratio.{scheme}.{group}"] = over_optimum(goodput, best)
            out[f"share.{scheme}.{group}"] = swept(runs, names, variable, share, of, group)
        of = label(scheme)
        out[f"spread.{scheme}"] = swept(runs, names, variable, spread, of, groups)
        out[f"utilization.{scheme}"] = swept(runs, names, variable, of_link, of, "utilization")
        out[f"cpu.{scheme}"] = swept(runs, names, variable, of_link, of, "utilization", CPU)
    return out
