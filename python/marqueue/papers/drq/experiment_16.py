"""Figure 16: an edge router with DRQ and one with RED-RED."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.measures import quotient, swept, total
from marqueue.papers.drq.setups import core_rate, round_trip, shorter, two_edges
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: w1, cycles/bit.
DENSITIES = (2, 5, 10, 20)
CLOCK, LOW = 30.0, 1.0
NAMES = {float(w): f"w1-{w}" for w in DENSITIES}
VARIABLE = "w1"
AXIS = "Density of SG1, cycles/bit"
EDGES = {"IE1": "IE1, DRQ", "IE2": "IE2, RED-RED"}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per density."""
    core, rtt = core_rate(choice), round_trip(choice)
    return {each: two_edges(CLOCK, (w, LOW), core, rtt) for w, each in NAMES.items()}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodput of SG1 and SG2 through each edge router."""
    out = {
        key: swept(runs, NAMES, VARIABLE, total, of, [f"SG{i} by {key}" for i in (1, 2)])
        for key, of in EDGES.items()
    }
    out["gain"] = quotient(out["IE1"], out["IE2"], "DRQ's edge over RED-RED's")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per edge router."""
    caption = "Goodput of all flows through each of the two edge routers."
    return [sweep_figure("Figure 16", caption, [quantities[key] for key in EDGES], AXIS)]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 15. IE2 and EE2 have the same CPUs as IE1 and EE1, under RED-RED; as "
        "many flows of the same densities go through them instead of SG3.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
