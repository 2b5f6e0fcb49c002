"""Beyond the paper's figures: DRQ without the signal from one resource to the next."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.experiment_10 import AXIS, GROUPS, RATES, THROUGH, VARIABLE
from marqueue.papers.drq.measures import name, named, quotient, swept, total
from marqueue.papers.drq.setups import label, parking_lot, shorter
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("drq", "drq-intra")


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """The parking lot with and without inter-resource marking, by the rate of link 3."""
    return {name(scheme, b): parking_lot(scheme, b) for scheme in COMPARED for b in RATES}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodput of all groups, and of those that pass all six resources."""
    out = {}
    for scheme in COMPARED:
        for key, groups in {"total": GROUPS, "through": THROUGH}.items():
            names = named(scheme, RATES)
            out[f"{key}.{scheme}"] = swept(runs, names, VARIABLE, total, label(scheme), groups)
    for key, what in {"total": "Total", "through": "SG1 to SG4"}.items():
        with_, without = (out[f"{key}.{scheme}"] for scheme in COMPARED)
        out[f"gain.{key}"] = quotient(with_, without, f"{what} with inter-resource marking")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Both goodputs, a curve per scheme."""
    captions = {"total": "all groups", "through": "SG1 to SG4, which pass six resources"}
    return [
        sweep_figure(
            f"Ablation {i}",
            f"Goodput of {caption}, with and without inter-resource marking.",
            [quantities[f"{key}.{scheme}"] for scheme in COMPARED],
            AXIS,
        )
        for i, (key, caption) in enumerate(captions.items(), start=1)
    ]


EXPERIMENT = Experiment(
    readings=(
        "The parking lot of Experiment 10 with round trips of 40 ms. Without inter-resource "
        "marking, epsilon is zero: each resource marks with probability delta alone "
        "(`inter_resource = false`).",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
