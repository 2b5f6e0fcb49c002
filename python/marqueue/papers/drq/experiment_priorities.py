"""Beyond the paper: priorities by weights; u is divided by the weight at every resource."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.figures import beside_optimum, use_of_both
from marqueue.papers.drq.measures import classes, name, named, optima
from marqueue.papers.drq.setups import dumbbell, group, shorter
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.allocation.proportional_fairness import Optimum

#: C, Mcycles/s: one value in each region.
CLOCKS = (10, 35, 60)
DENSITIES = {"cheap": 0.5, "dear": 2.0}
WEIGHT = 4.0
VARIABLE = "C"
AXIS = "CPU capacity, Mcycles/s"
GROUPS = ("cheap-1", "cheap-2", "dear-1", "dear-2")
PRIORITIES = {each: WEIGHT for each in GROUPS if each.endswith("-2")}


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per capacity: ten flows of each density and level."""
    flows = [
        group(f"{key}-{level}", w, dscp=dscp)
        for key, w in DENSITIES.items()
        for level, dscp in ((1, "DF"), (2, "AF11"))
    ]
    aqm = f'{{name = "drq", weights = {{AF11 = {WEIGHT:g}}}}}'
    weighted = [f"topology.bottleneck.{part}aqm={aqm}" for part in ("", "cpu.")]
    return {name("drq", c): dumbbell("drq", c, flows, weighted) for c in CLOCKS}


def found(runs: Runs) -> list[Optimum]:
    """The weighted optima."""
    return optima(runs, named("drq", CLOCKS), priorities=PRIORITIES)


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs of classes and levels relative to the weighted optimum."""
    out = classes(runs, CLOCKS, VARIABLE, found(runs), ["drq"], GROUPS)
    return out | {f"ratio.{each}": out[f"ratio.drq.{each}"] for each in GROUPS}


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodputs, and a table of regions."""
    best = dict(zip(named("drq", CLOCKS), found(runs), strict=True))
    return [
        beside_optimum("Priorities 1", quantities, AXIS, "drq", GROUPS),
        *use_of_both("Priorities 2", AXIS, best, quantities, groups=GROUPS),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Ten flows each of 0.5 (cheap) and 2 cycles/bit (dear), of weight 1 and of weight 4, "
        "otherwise as in Experiment 5. Both queues take the weight from the code point.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
