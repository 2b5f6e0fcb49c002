"""Figure 2: shares of one CPU and one link, in theory and under DRQ and RED-RED."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from marqueue.papers.drq.measures import (
    CPU,
    LINK,
    line,
    name,
    named,
    over_optimum,
    rate,
    share,
    swept,
)
from marqueue.papers.drq.optimum import sharing
from marqueue.papers.drq.setups import ECN, dumbbell, group, label, shorter
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.plots.capacity_region import pair_allocations, pair_shares
from marqueue.scenario import Scenario
from marqueue.theory.allocation.proportional_fairness import proportionally_fair
from marqueue.theory.allocation.single_bottleneck import SingleBottleneck

DENSITIES = (1, 2, 4, 8)
#: Simulation: ten flows of each density share 10 Mbit/s.
RATE, EACH = 10.0, 10
#: C/B, cycles/bit.
RATIOS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
VARIABLE = "C/B"
AXIS = "C/B, cycles/bit"
FLOWS = SingleBottleneck.of(DENSITIES)
#: The allocation expected of each scheme; sources react to losses, under DRQ also to marks.
COMES_TO = {"drq": "optimum", "drq-ecn": "optimum", "red-red": "tcp-like"}
OVERRIDES = {"drq-ecn": ECN}


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and ratio of capacities."""
    flows = [group(str(w), w, EACH) for w in DENSITIES]
    return {
        name(scheme, ratio): dumbbell(
            scheme, ratio * RATE, flows, OVERRIDES.get(scheme, ()), rate=f"{RATE:g} Mbit/s"
        )
        for scheme in COMES_TO
        for ratio in RATIOS
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Theoretical shares, and goodputs relative to them."""
    allocations = {
        "optimum": [FLOWS.proportionally_fair(ratio, 1.0) for ratio in RATIOS],
        "tcp-like": [FLOWS.tcp_like(ratio, 1.0) for ratio in RATIOS],
    }
    out = {
        "mean.harmonic": single(
            "C/B from which the link limits too", "problem P", [boundary("link")], "cycles/bit"
        ),
        "mean.arithmetic": single(
            "C/B up to which the CPU limits", "problem P", [boundary("cpu")], "cycles/bit"
        ),
        "gain": theory(
            "PF over TCP-like, in all",
            [p.sum() / t.sum() for p, t in zip(*allocations.values(), strict=True)],
        ),
    }
    for i, w in enumerate(DENSITIES):
        for key, each in allocations.items():
            of_cpu = [w * r[i] / c for r, c in zip(each, RATIOS, strict=True)]
            out[f"cpu.{key}.{w}"] = theory("Share of the CPU", of_cpu)
        for scheme, key in COMES_TO.items():
            goodput = swept(runs, named(scheme, RATIOS), VARIABLE, rate, f"w = {w}", str(w))
            expected = [float(r[i]) * RATE / EACH for r in allocations[key]]
            out[f"rate.{scheme}.{w}"] = goodput
            out[f"share.{scheme}.{w}"] = swept(
                runs, named(scheme, RATIOS), VARIABLE, share, f"w = {w}", str(w)
            )
            out[f"{key}.{w}"] = line(goodput, expected)
            out[f"ratio.{scheme}.{w}"] = over_optimum(goodput, expected)
    return out


def boundary(resource: str) -> float:
    """The C/B at which a resource begins or ceases to have a price in problem P, by bisection of
    the general solver: not by the formulas for means."""
    flows = [group(str(w), w, EACH) for w in DENSITIES]
    shared = sharing(dumbbell("drq", RATE, flows, rate=f"{RATE:g} Mbit/s"))

    @cache
    def priced(ratio: float) -> bool:
        """Whether the resource has a price at this C/B; that of ``shared`` is 1."""
        resources = (
            replace(each, capacity=ratio * each.capacity) if each.name == CPU else each
            for each in shared.resources
        )
        at = replace(shared, resources=tuple(resources))
        return {"link": LINK, "cpu": CPU}[resource] in proportionally_fair(at).congested

    low, high = RATIOS[0], RATIOS[-1]
    for _ in range(30):
        middle = (low + high) / 2
        if priced(middle) == priced(RATIOS[0]):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def theory(what: str, values: Sequence[float]) -> Quantity:
    """A theoretical quantity by C/B."""
    return Quantity(what, "theory", np.array([values]), "", VARIABLE, RATIOS)


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The paper's figure, and the same by simulation."""
    shares = dict(pair_allocations(FLOWS))
    ratios = shares.pop("C/B")
    data = pa.concat_tables(
        pa.table(
            {"of": [of] * len(ratios), "w": [float(w)] * len(ratios), "C/B": ratios, "share": s}
        )
        for of, allocation in shares.items()
        for w, s in zip(DENSITIES, allocation.T, strict=True)
    )
    caption = "Shares of link and CPU at the optimum of problem P, and TCP-like."
    return [
        PaperFigure("Figure 2", caption, pair_shares(FLOWS), data),
        *(
            sweep_figure(
                f"Figure 2, {label(scheme)}",
                f"Mean goodput of a flow of each density under {label(scheme)} (marks), and what "
                "theory says (lines).",
                [quantities[f"rate.{scheme}.{w}"] for w in DENSITIES],
                AXIS,
                [quantities[f"{key}.{w}"] for w in DENSITIES],
            )
            for scheme, key in COMES_TO.items()
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Theory: closed forms, flows of equal weight. Simulation, which is not in the paper: ten "
        "flows of each density, 10 Mbit/s, C of 10 to 40 Mcycles/s, otherwise as in Experiment 5.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
