"""Figure 14: DRQ at the edge only, by the capacity of the edge router's CPU."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.edge import BEHIND, EDGE, GROUPS, aggregate, edge_table, goodputs
from marqueue.papers.drq.measures import name, named
from marqueue.papers.drq.setups import SCHEMES, edge, label, round_trip, shorter
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: C of IE1, Mcycles/s.
CLOCKS = (5, 10, 20, 30, 40)
#: w1 and w2, cycles/bit.
DENSITIES = (2.5, 0.5)
#: Rates of L1 and L2, Mbit/s, for a comparison of DRQ and RED-RED at one CPU capacity.
CORES, AT = (40, 60, 90), 10
VARIABLE = "C"
AXIS = "CPU capacity of IE1, Mcycles/s"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and CPU capacity; at one capacity, one per scheme and rate of the
    core."""
    rtt = round_trip(choice)
    every = {
        name(scheme, c): edge(scheme, c, DENSITIES, rtt=rtt) for scheme in SCHEMES for c in CLOCKS
    }
    return every | {
        name(f"core-{scheme}", b): edge(scheme, AT, DENSITIES, b, rtt)
        for scheme in SCHEMES
        for b in CORES
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodputs of the groups, and total goodput of those behind the CPU."""
    core = {each.removeprefix("core-"): run for each, run in runs.items() if "core" in each}
    other = goodputs(core, CORES, "B1 = B2", round_trip(choice))
    return goodputs(runs, CLOCKS, VARIABLE, round_trip(choice)) | {
        f"core.{key}": q for key, q in other.items()
    }


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, the aggregate, and utilization of the CPU."""
    return [
        *(
            sweep_figure(
                f"Figure 14, {label(scheme)}",
                f"Mean goodput of a flow of each group, {label(scheme)} at IE1 and EE1.",
                [quantities[f"{group}.{scheme}"] for group in GROUPS],
                AXIS,
            )
            for scheme in SCHEMES
        ),
        aggregate("Figure 14 (d)", quantities, AXIS),
        sweep_figure(
            "Figure 14, core",
            "Goodput of SG1 and SG2 together at 10 Mcycles/s, by the rate of the core.",
            [quantities[f"core.both.{scheme}"] for scheme in SCHEMES],
            "Rate of L1 and L2, Mbit/s",
        ),
        edge_table("Table 14", AXIS, named("drq", CLOCKS), runs, quantities),
    ]


EXPERIMENT = Experiment(
    readings=(
        "The paper gives neither the rates of L1 and L2 nor the routes of SG4 and SG5. Here both "
        "links have 40 Mbit/s: with SG4 on L1 and SG5 on L2 an equal share is 1 Mbit/s, at which "
        "SG1 and SG2 need 30 Mcycles/s, the capacity of Experiment 15, at its lowest density.",
        "Only the CPU of IE1 is varied; EE1's has 100 Mcycles/s and is not full. All other links "
        "run RED and drop packets, so that DRQ's signal (10) has no effect on them.",
        f"Behind the CPU are {' and '.join(BEHIND)}, at {EDGE}.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
