"""Beyond the paper: a class that declares a false density."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.measures import line, optima, quotient, rate, share
from marqueue.papers.drq.setups import CLASSES, EACH, dumbbell, group, shorter
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

CLOCK = 20.0
LIAR, SAYS = "2", "0.25 cycles/bit"
#: Weight of a new measurement if the CPU learns densities (1).
LEARNING = 0.01
CASES = {"truth": "all say the truth", "told": "w = 2 says 0.25", "learned": "the CPU measures"}
AXIS = "Density, cycles/bit"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """True densities; a false one; a false one at a CPU that measures."""
    honest = [group(each, float(each)) for each in CLASSES]
    lying = {"per_bit": f"{LIAR} cycles/bit", "declared": SAYS}
    flows = [*honest[:-1], group(LIAR, float(LIAR), EACH, processing=lying)]
    learning = [f"topology.bottleneck.cpu.learning={LEARNING}"]
    return {
        "truth": dumbbell("drq", CLOCK, honest),
        "told": dumbbell("drq", CLOCK, flows),
        "learned": dumbbell("drq", CLOCK, flows, learning),
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs and shares of the CPU by density, and the gain of the class with the false
    density."""
    out = {}
    for case, of in CASES.items():
        run = runs[case]
        for key, taken in {"rate": rate, "share": share}.items():
            parts = {float(each): taken(run, of, each) for each in CLASSES}
            out[f"{key}.{case}"] = side_by_side(parts, "w")
        if case != "truth":
            lied, honest = (rate(runs[each], of, LIAR) for each in (case, "truth"))
            out[f"gain.{case}"] = quotient(lied, honest, "Goodput of w = 2 over that of the truth")
    [best] = optima(runs, {0.0: "truth"})
    out["rate.optimum"] = line(out["rate.truth"], [best.rate(w) * 1e-6 for w in CLASSES])
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Goodputs and shares by density, a curve per case."""
    return [
        sweep_figure(
            "Liar 1",
            "Mean goodput of a flow by true density; the line is the optimum.",
            [quantities[f"rate.{case}"] for case in CASES],
            AXIS,
            [quantities["rate.optimum"]],
        ),
        sweep_figure(
            "Liar 2",
            "Share of the CPU that each class has.",
            [quantities[f"share.{case}"] for case in CASES],
            AXIS,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 20 Mcycles/s. The CPU's queue uses the declared density, or "
        "measures the cycles of each packet and learns by (1) with a weight of 0.01.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
