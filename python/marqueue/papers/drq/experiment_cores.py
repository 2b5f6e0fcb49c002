"""Beyond the paper: several cores serve the CPU's queue."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.figures import beside_optimum, use_of_both
from marqueue.papers.drq.measures import classes, name, named, optima
from marqueue.papers.drq.setups import CLASSES, dumbbell, shorter
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

CORES = (1, 2, 4, 8)
#: Total capacity of all cores, Mcycles/s.
CLOCK = 20.0
VARIABLE = "cores"
AXIS = "Cores, 20 Mcycles/s in all"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per number of cores."""
    return {
        name("drq", n): dumbbell("drq", CLOCK / n, overrides=[f"topology.bottleneck.cpu.cores={n}"])
        for n in CORES
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs of classes relative to the optimum."""
    out = classes(runs, CORES, VARIABLE, optima(runs, named("drq", CORES)), ["drq"])
    return out | {f"ratio.{each}": out[f"ratio.drq.{each}"] for each in CLASSES}


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodputs, and utilization of both resources."""
    names = named("drq", CORES)
    found = dict(zip(names, optima(runs, names), strict=True))
    return [
        beside_optimum("Cores 1", quantities, AXIS, "drq"),
        *use_of_both("Cores 2", AXIS, found, quantities),
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 20 Mcycles/s, divided among 1, 2, 4 or 8 cores. The cores serve "
        "one queue, each one packet at a time; with n cores a packet takes n times as long.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
