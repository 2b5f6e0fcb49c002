"""Beyond the paper: a constant number of cycles per packet, whatever its size."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.figures import beside_optimum, use_of_both
from marqueue.papers.drq.measures import classes, name, named, optima
from marqueue.papers.drq.setups import dumbbell, shorter
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: C, Mcycles/s.
CLOCKS = (5, 10, 20, 40)
#: Packet size in bytes by group, of 20 flows each.
SIZES = {"large": 500, "small": 100}
MU = "2000 cycles"
VARIABLE = "C"
AXIS = "CPU capacity, Mcycles/s"
GROUPS = tuple(SIZES)
SMALL = 'transport.small={preset="ns2", recovery="newreno", segment="100 B"}'


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per capacity."""
    flows = [
        {
            "name": each,
            "kind": "tcp",
            "count": 20,
            "processing": {"per_packet": MU},
            "transport": "small" if each == "small" else "default",
        }
        for each in GROUPS
    ]
    return {name("drq", c): dumbbell("drq", c, flows, [SMALL]) for c in CLOCKS}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs of both groups relative to the optimum."""
    out = classes(runs, CLOCKS, VARIABLE, optima(runs, named("drq", CLOCKS)), ["drq"], GROUPS)
    return out | {f"ratio.{each}": out[f"ratio.drq.{each}"] for each in GROUPS}


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodputs, and utilization of both resources."""
    names = named("drq", CLOCKS)
    found = dict(zip(names, optima(runs, names), strict=True))
    return [
        beside_optimum("Packets 1", quantities, AXIS, "drq", GROUPS),
        *use_of_both("Packets 2", AXIS, found, quantities, groups=GROUPS),
    ]


EXPERIMENT = Experiment(
    readings=(
        "20 flows with packets of 500 bytes and 20 with packets of 100, each packet 2000 cycles: "
        "densities mu/M of 0.5 and 2.5 cycles/bit. alpha is proportional to M (Proposition 1), so "
        "that at the optimum a flow of large packets has five times the share of a full CPU.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
