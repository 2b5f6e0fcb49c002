"""Figure 14: DRQ at the edge only, by the capacity of the edge router's CPU."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.edge import BEHIND, EDGE, edge_figures, goodputs
from marqueue.papers.drq.measures import name
from marqueue.papers.drq.setups import SCHEMES, core_rate, edge, round_trip, shorter
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: C of IE1, Mcycles/s.
CLOCKS = (5, 10, 20, 30, 40)
#: w1 and w2, cycles/bit.
DENSITIES = (2.5, 0.5)
VARIABLE = "C"
AXIS = "CPU capacity of IE1, Mcycles/s"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and CPU capacity."""
    core, rtt = core_rate(choice), round_trip(choice)
    return {
        name(scheme, c): edge(scheme, c, DENSITIES, core, rtt) for scheme in SCHEMES for c in CLOCKS
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodputs of the groups, and total goodput of those behind the CPU."""
    return goodputs(runs, CLOCKS, VARIABLE, round_trip(choice))


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, the aggregate, and utilization of the CPU."""
    return edge_figures("14", AXIS, CLOCKS, runs, quantities)


EXPERIMENT = Experiment(
    readings=(
        "The paper gives no routes of SG4 and SG5. Here SG4 crosses L1, and SG5 L2. The rates of "
        "L1 and L2, which it does not give either, are a reading.",
        "Only the CPU of IE1 is varied; EE1's has 100 Mcycles/s and is not full. All other links "
        "run RED and drop packets, so that DRQ's signal (10) has no effect on them.",
        f"Behind the CPU are {' and '.join(BEHIND)}, at {EDGE}.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
