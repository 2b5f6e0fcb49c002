"""Figure 15: DRQ at the edge only, by the density of SG1."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.edge import edge_figures, goodputs
from marqueue.papers.drq.measures import name
from marqueue.papers.drq.setups import SCHEMES, core_rate, edge, round_trip, shorter
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: w1, cycles/bit.
DENSITIES = (2, 5, 10, 20)
CLOCK, LOW = 30.0, 1.0
VARIABLE = "w1"
AXIS = "Density of SG1, cycles/bit"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and density."""
    core, rtt = core_rate(choice), round_trip(choice)
    return {
        name(scheme, w): edge(scheme, CLOCK, (w, LOW), core, rtt)
        for scheme in SCHEMES
        for w in DENSITIES
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodputs of the groups, total goodput of those behind the CPU, and SG1's share of the CPU."""
    return goodputs(runs, DENSITIES, VARIABLE, round_trip(choice))


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A figure per scheme, the aggregate, and utilization of the CPU."""
    return edge_figures("15", AXIS, DENSITIES, runs, quantities)


EXPERIMENT = Experiment(
    readings=("As in Experiment 14, with 30 Mcycles/s at IE1 and 1 cycle/bit for SG2.",),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
