"""Figure 7: flows of density 10 join the dumbbell."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.figures import cpu_share, schemes, use_of_both
from marqueue.papers.drq.measures import (
    CPU,
    classes,
    difference_from_optimum,
    line,
    name,
    named,
    optima,
    over_optimum,
    share,
    swept,
)
from marqueue.papers.drq.setups import CLASSES, SCHEMES, dumbbell, group, label, shorter, table
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.theory.allocation.allocations import tcp_like
from marqueue.theory.allocation.resources import Allocation

#: Numbers of flows of high density.
HIGH = (0, 2, 5, 10)
DENSITY, CLOCK = 10.0, 40.0
VARIABLE = "n"
AXIS = "Flows of 10 cycles/bit"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of such flows."""
    return {name(scheme, n): dumbbell(scheme, CLOCK, flows(n)) for scheme in SCHEMES for n in HIGH}


def flows(high: int) -> list[Mapping[str, object]]:
    """The four classes, and this number of flows of high density."""
    return [*table("dumbbell")["traffic"], *([group("high", DENSITY, high)] if high else [])]


def high_share(run: Result, of: str) -> Quantity:
    """Share of the CPU of the flows of high density; 0 if there are none."""
    if "high" in run.link(CPU).shares():
        return share(run, of, "high")
    return single("Share of the CPU", of, [0.0] * run.replications)


def high_at(found: Allocation) -> float:
    """The same share in an allocation."""
    there = any(each.name == "high" for each in found.sharing.flows)
    return cpu_share(found, "high") if there else 0.0


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Shares of the flows of high density, goodputs of the others, and utilization of both
    resources."""
    found = optima(runs, named("drq", HIGH))
    out = classes(runs, HIGH, VARIABLE, found)
    equal = [high_at(tcp_like(each.sharing)) for each in found]
    for scheme in SCHEMES:
        high = swept(runs, named(scheme, HIGH), VARIABLE, high_share, label(scheme))
        out[f"high.{scheme}"] = high
        out[f"high-off.{scheme}"] = difference_from_optimum(high, [high_at(each) for each in found])
        out |= {f"low.{scheme}.{w}": out[f"rate.{scheme}.{w}"] for w in CLASSES}
    out["high.optimum"] = line(out["high.drq"], [high_at(each) for each in found])
    # Without such flows the ratio is 0 / 1.
    out["high-ratio.red-red"] = over_optimum(out["high.red-red"], [each or 1.0 for each in equal])
    return out


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """The share of the flows of high density, goodputs of the others, and utilization."""
    names = named("drq", HIGH)
    found = dict(zip(names, optima(runs, names), strict=True))
    shares = [quantities[f"high.{scheme}"] for scheme in SCHEMES]
    model = [line(each, list(quantities["high.optimum"].values[0])) for each in shares[:1]]
    return [
        sweep_figure(
            "Figure 7 (a)",
            "Share of the CPU that the flows of high density have; the line is the proportionally "
            "fair share.",
            shares,
            AXIS,
            model,
        ),
        schemes("Figure 7 (b)", "Utilization of the link.", quantities, "utilization", AXIS),
        sweep_figure(
            "Figure 7 (c)",
            "Mean goodput of a flow of the other classes under RED-RED.",
            [quantities[f"rate.red-red.{w}"] for w in CLASSES],
            AXIS,
        ),
        *use_of_both("Table 7", AXIS, found, quantities),
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 40 Mcycles/s, and 0, 2, 5 and 10 additional flows of 10 "
        "cycles/bit. The share of the CPU is that of its capacity.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
