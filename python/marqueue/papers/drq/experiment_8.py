"""Figure 8: the dumbbell with web-like short flows, by their density."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.drq.figures import beside_optimum, schemes, use_of_both
from marqueue.papers.drq.measures import (
    CPU,
    LINK,
    classes,
    difference,
    line,
    mbits,
    name,
    named,
    of_link,
    quotient,
    scenario,
    swept,
)
from marqueue.papers.drq.optimum import sharing
from marqueue.papers.drq.setups import CLASSES, SCHEMES, dumbbell, label, shorter, table
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.theory.allocation.proportional_fairness import Optimum, proportionally_fair

#: Density of the short flows, cycles/bit.
DENSITIES = (0.25, 1.0, 2.0, 2.5)
#: Short flows a second, by value of the reading ``cross-load``: 100 of 30 packets are 12 Mbit/s,
#: 30% of the link; as much arrives at the receivers of 123, whose sizes are seldom the largest.
ARRIVALS = {"consumes": 123, "offers": 100}
#: The short flows.
WEB = {
    "name": "short",
    "kind": "poisson",
    "size": "30 packets",
    "sizes": "pareto",
    "shape": 1.2,
    "classes": ["20 ms", "30 ms", "40 ms", "50 ms", "60 ms"],
}
CLOCK = 40.0
VARIABLE = "w of short flows"
AXIS = "Density of short flows, cycles/bit"
LONG = ["40 ms"]
RTTS = f"topology.rtts={json.dumps(WEB['classes'])}"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and density of short flows; one of each scheme without them."""
    long = [each | {"classes": LONG} for each in table("dumbbell")["traffic"]]
    web = WEB | {"rate": f"{ARRIVALS[choice['cross-load']]} /s"}
    every = {
        name(scheme, w): dumbbell(
            scheme, CLOCK, [*long, web | {"processing": f"{w:g} cycles/bit"}], [RTTS]
        )
        for scheme in SCHEMES
        for w in DENSITIES
    }
    return every | {f"alone-{scheme}": dumbbell(scheme, CLOCK) for scheme in SCHEMES}


def taken(run: Result) -> dict[str, list[float]]:
    """Resources used by short flows of link and CPU in each replication, bits/s and cycles/s."""
    return {
        each: [w.groups["short"] / w.seconds for w in run.link(each).windows()]
        for each in (LINK, CPU)
    }


def left(run: Result) -> list[Optimum]:
    """The optimum of the long flows on the capacity left by short flows, in each replication."""
    took = taken(run)
    return [
        proportionally_fair(
            sharing(scenario(run), taken={each: values[r] for each, values in took.items()})
        )
        for r in range(run.replications)
    ]


def short_share(run: Result, of: str) -> Quantity:
    """The share of short flows in the link."""
    values = [bits / 40e6 for bits in taken(run)[LINK]]
    return single("Share of the link, short flows", of, values)


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs of long flows relative to the capacity left by short flows, and use of the link."""
    best = {each: left(run) for each, run in runs.items() if "alone" not in each}
    first = [best[name("drq", w)][0] for w in DENSITIES]
    out = classes(runs, DENSITIES, VARIABLE, first)
    for scheme in SCHEMES:
        found = [best[name(scheme, w)] for w in DENSITIES]
        for group in CLASSES:
            rates = np.array([mbits(each, group) for each in found]).T
            goodput = out[f"rate.{scheme}.{group}"]
            out[f"optimum.{scheme}.{group}"] = line(goodput, list(rates.mean(axis=0)))
            over = out[f"ratio.{scheme}.{group}"]
            out[f"ratio.{scheme}.{group}"] = Quantity(
                over.label, over.of, goodput.values / rates, "", VARIABLE, over.places
            )
        names = named(scheme, DENSITIES)
        out[f"short.{scheme}"] = swept(runs, names, VARIABLE, short_share, label(scheme))
    for scheme in ("drq", "drr-red"):
        used, wasted = out[f"utilization.{scheme}"], out["utilization.red-red"]
        out[f"lost.{scheme}"] = difference(used, wasted, "Utilization beyond RED-RED's")
        what = f"Utilization of RED-RED over {label(scheme)}"
        out[f"left.{scheme}"] = quotient(wasted, used, what)
        alone = of_link(runs[f"alone-{scheme}"], label(scheme), "utilization")
        out[f"raised.{scheme}"] = replace(
            used,
            label=f"Utilization beyond that without short flows, {label(scheme)}",
            values=used.values - alone.values,
        )
    return out


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, and the utilization of the link."""
    names = named("drq", DENSITIES)
    found = {place: left(runs[each])[0] for place, each in names.items()}

    def of(scheme: str) -> Quantities:
        own = {f"optimum.{w}": quantities[f"optimum.{scheme}.{w}"] for w in CLASSES}
        return {**quantities, **own}

    return [
        *(beside_optimum("Figure 8", of(scheme), AXIS, scheme) for scheme in SCHEMES),
        schemes("Figure 8 (c)", "Utilization of the link.", quantities, "utilization", AXIS),
        schemes("Figure 8, short", "What short flows had of it.", quantities, "short", AXIS),
        *use_of_both("Table 8", AXIS, found, quantities, capacity=CLOCK * 1e6),
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 40 Mcycles/s, and short flows. Their round trips are 20, 30, "
        "40, 50 or 60 ms.",
        "The paper does not give the densities of the short flows. Here they are 0.25 to 2.5 "
        "cycles/bit: at 3.3 their load alone is the CPU's capacity.",
        "The optimum is that of the long flows with what the short ones left of CPU and link in "
        "the same replication.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
