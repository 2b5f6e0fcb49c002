"""``marqueue theory pf``."""

from typing import Annotated, Any, get_args

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, say, table
from marqueue.results.result_warnings import MOST_LISTED
from marqueue.scenario import load
from marqueue.theory.allocation.allocations import max_min, tcp_like
from marqueue.theory.allocation.from_scenario import AllocationProblem, Weights, allocation_problem
from marqueue.theory.allocation.proportional_fairness import PAID, Optimum, proportionally_fair
from marqueue.theory.allocation.resources import Allocation


def pf(
    file: options.File,
    set_: options.Set = None,
    weights: Annotated[
        str,
        typer.Option(
            metavar="tcp|equal",
            help="Weights of flows: sqrt(3/2) packet / round trip, like TCP Reno; or equal.",
        ),
    ] = "tcp",
    json: options.PlainJson = False,
) -> None:
    """Compute the proportionally fair rates over CPUs and links with their prices, the rates of TCP
    under RED on every queue, and the max-min fair rates of fair queueing on every resource.

    Example: marqueue theory pf scenarios/cpu.toml --set "topology.bottleneck.cpu.clock=10 MHz"
    """
    known: dict[str, Weights] = {each: each for each in get_args(Weights)}
    if weights not in known:
        expected = f"expected one of {', '.join(known)}"
        raise typer.BadParameter(f"got {weights!r}, {expected}", param_hint="--weights")
    shared = allocation_problem(load(file, set_ or []), known[weights])
    best = proportionally_fair(shared.sharing)
    beside = {"TCP-like": tcp_like(shared.sharing), "max-min": max_min(shared.sharing)}
    if json:
        print_json(_plain(shared, best, beside))
    else:
        _show(shared, best, beside)


def _show(shared: AllocationProblem, best: Optimum, beside: dict[str, Allocation]) -> None:
    output.print(f"The flows are {best.region}.", highlight=False)
    for pair in best.sharing.pairs:
        output.print(f"{pair[1]} and its CPU: {best.region_of(pair)}.", highlight=False)
    output.print()
    flows = table("flows", "count", "optimum (Mbit/s each)", *beside)
    for i, each in enumerate(best.sharing.flows[:MOST_LISTED]):
        rates = [best.rates[i], *(allocation.rates[i] for allocation in beside.values())]
        flows.add_row(each.name, str(each.count), *(f"{rate / 1e6:.4g}" for rate in rates))
    totals = [best.total, *(allocation.total for allocation in beside.values())]
    flows.add_row("all", "", *(f"{total / 1e6:.4g}" for total in totals))
    output.print(flows)
    output.print()
    listing = table("resource", "capacity (M/s)", "price", "paid", "used", *beside)
    managed, paid, used = set(shared.managed), best.paid, best.used
    shown = [
        i
        for i, resource in enumerate(best.sharing.resources)
        if resource.name in managed or paid[i] > PAID
    ]
    for i in sorted(sorted(shown, key=lambda i: -paid[i])[:MOST_LISTED]):
        resource = best.sharing.resources[i]
        unit = "cycles" if resource.kind == "cpu" else "bit"
        listing.add_row(
            resource.name,
            f"{resource.capacity / 1e6:.4g} {unit}",
            f"{best.prices[i] if paid[i] > PAID else 0:.4g}",
            f"{max(paid[i], 0):.1%}",
            f"{used[i]:.1%}",
            *(f"{allocation.used[i]:.1%}" for allocation in beside.values()),
        )
    output.print(listing)
    for kind, of, number in (
        ("kinds of flows", "first", len(best.sharing.flows)),
        ("resources", "most expensive", len(shown)),
    ):
        if number > MOST_LISTED:
            say(f"{number:,} {kind}: the {MOST_LISTED} {of} ones are listed; --json has all.")
    for assumption in shared.assumed:
        say(assumption)


def _plain(
    shared: AllocationProblem, best: Optimum, beside: dict[str, Allocation]
) -> dict[str, Any]:
    sharing = best.sharing
    names = {name: name.lower().replace("-", "_") for name in beside}
    congested = set(best.congested)
    order = sharing.index.__getitem__
    on_way = [
        sorted((name for name, demand in each.demands.items() if demand > 0), key=order)
        for each in sharing.flows
    ]
    return {
        "region": best.region,
        "pairs": [
            {"cpu": pair[0], "link": pair[1], "region": best.region_of(pair)}
            for pair in sharing.pairs
        ],
        "assumed": list(shared.assumed),
        "flows": [
            {
                "name": flows.name,
                "count": flows.count,
                "weight": flows.weight,
                "rate_bit_per_s": float(best.rates[i]),
                "shares": {
                    name: flows.demands[name]
                    * flows.count
                    * float(best.rates[i])
                    / float(sharing.capacity[sharing.index[name]])
                    for name in on_way[i]
                },
                "limited_by": [name for name in on_way[i] if name in congested],
                **{
                    f"{name}_rate_bit_per_s": float(beside[of].rates[i])
                    for of, name in names.items()
                },
            }
            for i, flows in enumerate(sharing.flows)
        ],
        "resources": [
            {
                "name": resource.name,
                "kind": resource.kind,
                "capacity": resource.capacity,
                "unit": "cycles/s" if resource.kind == "cpu" else "bit/s",
                "price": float(best.prices[i]),
                "paid": float(best.paid[i]),
                "used": float(best.used[i]),
                **{f"{name}_used": float(beside[of].used[i]) for of, name in names.items()},
            }
            for i, resource in enumerate(sharing.resources)
        ],
        "total_bit_per_s": best.total,
        **{f"{name}_total_bit_per_s": beside[of].total for of, name in names.items()},
        "worst_residual": best.residuals.worst,
    }
