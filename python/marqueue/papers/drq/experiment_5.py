"""Figures 5 and 6: four densities in a dumbbell, by the CPU's capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from marqueue.papers.drq.figures import beside_optimum, schemes, use_of_both
from marqueue.papers.drq.measures import (
    classes,
    difference,
    half_widths_off,
    line,
    name,
    named,
    optima,
    over_optimum,
    quotient,
)
from marqueue.papers.drq.setups import (
    CLASSES,
    ECN,
    SCHEMES,
    VARIED,
    dumbbell,
    label,
    shorter,
    varied,
)
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.allocation.allocations import max_min

#: C, Mcycles/s.
CLOCKS = (5, 10, 15, 20, 25, 30, 35, 40, 55)
#: Capacities for which losses and marks are compared: the CPU is the only bottleneck.
LOW = (5, 10, 15, 20)
MARKED = "drq-ecn"
VARIABLE = "C"
AXIS = "CPU capacity, Mcycles/s"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and capacity; DRQ with marks at low capacities."""
    every = {
        name(scheme, c): dumbbell(scheme, c, overrides=varied(choice, scheme))
        for scheme in SCHEMES
        for c in CLOCKS
    }
    acks = VARIED["acks"][choice["acks"]]
    return every | {name(MARKED, c): dumbbell("drq", c, overrides=[*ECN, *acks]) for c in LOW}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs, shares and utilization; distances from the optimum; capacity unused by RED-RED."""
    found = optima(runs, named("drq", CLOCKS))
    out = classes(runs, CLOCKS, VARIABLE, found)
    fair = [max_min(best.sharing) for best in found]
    for group in CLASSES:
        goodput = out[f"rate.drr-red.{group}"]
        rates = [each.rate(group) * 1e-6 for each in fair]
        out[f"max-min.{group}"] = line(goodput, rates)
        out[f"max-min-ratio.{group}"] = replace(
            over_optimum(goodput, rates), label="Goodput over the max-min fair rate"
        )
    for scheme in ("drq", "drr-red"):
        for group in CLASSES:
            parts = {
                place: half_widths_off(runs[each], f"w = {group}", group, best.rate(group) * 1e-6)
                for (place, each), best in zip(named(scheme, CLOCKS).items(), found, strict=True)
            }
            out[f"away.{scheme}.{group}"] = side_by_side(parts, VARIABLE)
        used, wasted = out[f"utilization.{scheme}"], out["utilization.red-red"]
        out[f"lost.{scheme}"] = difference(used, wasted, "Utilization beyond RED-RED's")
        what = f"Utilization of RED-RED over {label(scheme)}"
        out[f"left.{scheme}"] = quotient(wasted, used, what)
    out["same"] = quotient(
        out["utilization.drq"], out["utilization.drr-red"], "Utilization, DRQ over DRR-RED"
    )
    marked = classes(runs, LOW, VARIABLE, found[: len(LOW)], [MARKED])
    return {each: q for each, q in marked.items() if MARKED in each} | out


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, the utilization of both resources, and a table of regions."""
    names = named("drq", CLOCKS)
    found = dict(zip(names, optima(runs, names), strict=True))
    return [
        *(beside_optimum("Figure 5", quantities, AXIS, scheme) for scheme in SCHEMES),
        sweep_figure(
            "Figure 5, max-min",
            "Mean goodput of a flow of each class under DRR-RED (marks), and the max-min fair "
            "rate (lines).",
            [quantities[f"rate.drr-red.{group}"] for group in CLASSES],
            AXIS,
            [quantities[f"max-min.{group}"] for group in CLASSES],
        ),
        schemes("Figure 6", "Utilization of the link.", quantities, "utilization", AXIS),
        schemes("Figure 6, CPU", "Utilization of the CPU.", quantities, "cpu", AXIS),
        *use_of_both("Table 5", AXIS, found, quantities),
    ]


EXPERIMENT = Experiment(
    readings=(
        "40 Mbit/s, 40 ms, ten flows each of 0.25, 0.5, 1 and 2 cycles/bit. The paper gives no "
        "duration: 60 s, of which the first 25 s are left out. C of 45 and 50 Mcycles/s, where "
        "nothing changes any more, are left out too.",
        "Packets are 500 bytes on the wire, and windows are not limited.",
        "RED counts packets, DRQ bits. Buffers have room for 2000 packets, more than RED lets "
        "wait. DRR's flows share room for 550 packets and have no other AQM; the paper gives no "
        "buffer.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
