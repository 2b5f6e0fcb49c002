"""Figures 10, 11 and 12: a parking lot of three CPUs and links, by the rate of the last link."""

from collections.abc import Mapping, Sequence

import numpy as np

from marqueue.papers.drq.figures import schemes
from marqueue.papers.drq.measures import (
    half_widths_off,
    line,
    mbits,
    name,
    named,
    of_link,
    optima,
    over_optimum,
    quotient,
    rate,
    scenario,
    swept,
    total,
)
from marqueue.papers.drq.optimum import sharing
from marqueue.papers.drq.setups import SCHEMES, label, parking_lot, round_trip, shorter, varied
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.theory.allocation.proportional_fairness import Optimum, proportionally_fair
from marqueue.theory.drq.marking import approximation, marking

#: B3, Mbit/s.
RATES = (20, 40, 60, 90)
VARIABLE = "B3"
AXIS = "Rate of link 3, Mbit/s"
THROUGH = tuple(f"SG{i}" for i in range(1, 5))
LAST = tuple(f"SG{i}" for i in range(7, 11))
GROUPS = (*THROUGH, "SG5", "SG6", *LAST)
LINKS = tuple(f"L{i}{part}" for i in range(1, 4) for part in ("/cpu", ""))


#: Densities of SG1 to SG4, and of SG7 to SG10, by value of the reading ``densities``, cycles/bit.
DENSITIES = {"dumbbell": (0.25, 0.5, 1.0, 2.0), "figure-2": (1.0, 2.0, 4.0, 8.0)}
#: Prices on a path of two to six resources, the sum of u, for the marking of Figure 3.
SUMS, HOPS = (0.05, 0.1, 0.2), (2, 4, 6)


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and rate of link 3."""
    rtt, densities = round_trip(choice), DENSITIES[choice["densities"]]
    return {
        name(scheme, b): parking_lot(scheme, b, rtt, densities, varied(choice, scheme))
        for scheme in SCHEMES
        for b in RATES
    }


def marked(hops: int) -> Quantity:
    """Figure 3's probability of a congestion mark over (21), at each sum of u."""
    values = [marking([s / hops] * hops).congested / approximation([s]) for s in SUMS]
    return Quantity(
        "Marks over (21)", f"{hops} resources", np.array([values]), "", "sum of u", SUMS
    )


def with_delays(run: Result) -> Optimum:
    """The optimum with alpha from round-trip times that include mean queueing delays."""
    waits = {link: run.link(link).figures()["delay_mean"].mean for link in LINKS}
    return proportionally_fair(sharing(scenario(run), waits=waits))


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs compared with both optima, totals, and utilization of CPU and link 3."""
    names = named("drq", RATES)
    nominal = optima(runs, names)
    delayed = [with_delays(runs[each]) for each in names.values()]
    out = {f"marking.{hops}": marked(hops) for hops in HOPS}
    for group in (*THROUGH, *LAST):
        parts = {
            place: half_widths_off(runs[each], group, group, best.rate(group) * 1e-6)
            for (place, each), best in zip(names.items(), nominal, strict=True)
        }
        out[f"away.drq.{group}"] = side_by_side(parts, VARIABLE)
    for group in GROUPS:
        goodput = swept(runs, names, VARIABLE, rate, group, group)
        out[f"rate.drq.{group}"] = goodput
        for key, found in {"ratio": nominal, "delayed": delayed}.items():
            best = mbits(found, group)
            out[f"{key}.drq.{group}"] = over_optimum(goodput, best)
            out[f"{key}-optimum.{group}"] = line(goodput, best)
    for scheme in SCHEMES:
        names, of = named(scheme, RATES), label(scheme)
        out[f"total.{scheme}"] = swept(runs, names, VARIABLE, total, of, GROUPS)
        for key, link in {"utilization": "L3", "cpu": "L3/cpu"}.items():
            out[f"{key}.{scheme}"] = swept(runs, names, VARIABLE, of_link, of, "utilization", link)
    for scheme in ("drr-red", "red-red"):
        out[f"gain.{scheme}"] = quotient(
            out["total.drq"], out[f"total.{scheme}"], f"Total of DRQ over {label(scheme)}"
        )
    best = [each.total * 1e-6 for each in nominal]
    out["total.optimum"] = line(out["total.drq"], best)
    return out


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodputs of the groups at link 3, totals, utilization of link 3, and congested resources."""
    names = named("drq", RATES)

    def drawn(figure: str, groups: Sequence[str], key: str, what: str) -> PaperFigure:
        return sweep_figure(
            figure,
            f"Mean goodput of a flow under DRQ (marks), and the proportionally fair rate{what} "
            "(lines).",
            [quantities[f"rate.drq.{group}"] for group in groups],
            AXIS,
            [quantities[f"{key}-optimum.{group}"] for group in groups],
        )

    delays = " with round-trip times as they were, queueing included"
    return [
        drawn("Figure 10 (a)", THROUGH, "ratio", ""),
        drawn("Figure 10 (b)", LAST, "ratio", ""),
        drawn("Figure 10 (a), delays", THROUGH, "delayed", delays),
        drawn("Figure 10 (b), delays", LAST, "delayed", delays),
        schemes("Figure 11", "Goodput of SG1 to SG10 in all.", quantities, "total", AXIS),
        schemes("Figure 12", "Utilization of link 3.", quantities, "utilization", AXIS),
        schemes("Figure 12, CPU", "Utilization of CPU 3.", quantities, "cpu", AXIS),
        PaperTable(
            "Table 10",
            "At the optimum, what has a price, and the region of CPU and link 3; totals, Mbit/s.",
            (AXIS, "Congested", "Region at 3", "Optimum", *(label(s) for s in SCHEMES)),
            [
                [
                    b,
                    ", ".join(best.congested),
                    best.region_of(("L3", "L3/cpu")),
                    round(best.total * 1e-6, 1),
                    *(quantities[f"total.{s}"].estimates[i] for s in SCHEMES),
                ]
                for i, (b, best) in enumerate(zip(RATES, optima(runs, names), strict=True))
            ],
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "SG7 to SG10 have the densities of SG1 to SG4. SG5 and SG6 have 0.5, so that at L1 and L2 "
        "their bottleneck is the link and not the CPU, as the paper says.",
        "Every group has ten flows, and all have one round-trip propagation delay. On each of the "
        "four paths the short-lived traffic is five flows of 30 packets a second, of 1 cycle/bit.",
        "The paper's dotted lines have alpha by propagation delay, as far as can be told. They "
        "are shown together with lines that include the queueing delays measured under DRQ.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
