"""Experiment 2: losses, utilization and queue as long flows are added. Figures 6, 7 and 8."""

from collections.abc import Mapping, Sequence

from marqueue.papers.avq.setups import label, under
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, over_windows, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("avq", "red", "rem", "pi", "gkvq")
#: Additional schemes, for the ledger.
VARIANTS = ("rem_rate", "red-5-15", "pi-published")

#: Span of time with each number of flows, s.
PLACES = {float(20 * (i + 1)): (100.0 * i, 100.0 * (i + 1)) for i in range(9)}

FIGURES = {"losses": "drops", "utilization": "utilization", "queue": "queue_mean"}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme."""
    return {scheme: under("experiment-2", scheme, choice) for scheme in (*COMPARED, *VARIANTS)}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Packets lost, utilization and mean queue of each 100 s; the lowest utilization."""
    quantities = {
        f"{name}.{scheme}": over_windows(run, label(scheme), figure, "N", PLACES)
        for name, figure in FIGURES.items()
        for scheme, run in runs.items()
    }
    lowest = {
        f"lowest-utilization.{scheme}": single(
            "Lowest utilization",
            label(scheme),
            quantities[f"utilization.{scheme}"].values.min(axis=1),
        )
        for scheme in runs
    }
    return quantities | lowest


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A figure per quantity."""

    def drawn(name: str, what: str, caption: str) -> PaperFigure:
        compared = [quantities[f"{what}.{scheme}"] for scheme in COMPARED]
        return sweep_figure(name, f"{caption} with that number of flows.", compared, "Long flows")

    return [
        drawn("Figure 6", "losses", "Packets lost in the 100 s"),
        drawn("Figure 7", "utilization", "Utilization in the 100 s"),
        drawn("Figure 8", "queue", "Mean queue in the 100 s"),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Twenty flows are added every 100 s, in one run of 900 s. Every figure is an average over "
        "the 100 s with that number of flows, including the transient after each step. The paper "
        "says so for the queue (Figure 8); losses and utilization are read in the same way.",
        "The buffer is 100 packets, for AVQ 50; AVQ's virtual queue still holds 100.",
        "REM follows the law that the paper prints, in which the change of the queue represents "
        "the excess of input over capacity; ns-2's law, rem_rate, is measured for comparison.",
        "The paper names its sources for the parameters of RED, REM and PI but prints none. RED: "
        "w_q 0.002, max_p 0.1, gentle. REM: gamma 0.001, phi 1.001, alpha 0.1, every 2 ms. PI's "
        "gains are a reading.",
        "AVQ begins with a virtual capacity of 0.8 C, as its author's code does.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
