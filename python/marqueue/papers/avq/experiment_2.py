"""Experiment 2: losses, utilization and queue as long flows are added. Figures 6, 7 and 8."""

from collections.abc import Mapping, Sequence

from marqueue.papers.avq.setups import label, under
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, over_windows, single
from marqueue.papers.reproduction import Drawn, shown, sweep_data
from marqueue.plot import sweep
from marqueue.scenario import Scenario

COMPARED = ("avq", "red", "rem", "pi", "gkvq")
VARIANTS = ("rem-rate",)

#: The time with so many flows, s.
PLACES = {float(20 * (i + 1)): (100.0 * i, 100.0 * (i + 1)) for i in range(9)}

FIGURES = {"losses": "drops", "utilization": "utilization", "queue": "queue_mean"}


def setups() -> Mapping[str, Scenario]:
    """One a scheme."""
    return {scheme: under("experiment-2", scheme) for scheme in (*COMPARED, *VARIANTS)}


def measure(runs: Runs) -> Quantities:
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


def draw(_: Runs, quantities: Quantities) -> Sequence[Drawn]:
    """A figure a quantity."""
    every = "over the 100 s with that number of flows."
    return [
        _figure("Figure 6", quantities, "losses", f"Packets lost {every}"),
        _figure("Figure 7", quantities, "utilization", f"Utilization {every}"),
        _figure(
            "Figure 8",
            quantities,
            "queue",
            f"Mean queue {every} REM and PI aim at 50 packets; AVQ may hold no more than that.",
        ),
    ]


def _figure(name: str, quantities: Quantities, what: str, caption: str) -> Drawn:
    drawn: list[Quantity] = [quantities[f"{what}.{scheme}"] for scheme in COMPARED]
    figure = sweep(drawn[0].places, shown(drawn), "Long flows", drawn[0].label, drawn[0].unit)
    return Drawn(name, caption, figure, sweep_data(drawn))


EXPERIMENT = Experiment(
    readings=(
        "Twenty flows are added every 100 s, in one run of 900 s, and every figure is an average "
        "over the 100 s with that number of flows, the transient after each step included. The "
        "paper says so for the queue (Figure 8); losses and utilization are read alike.",
        "The buffer is 100 packets, for AVQ 50; AVQ's virtual queue still holds 100.",
        "REM follows the law that the paper prints, in which the change of the queue stands for "
        "the excess of input over capacity; rem-rate, which ns-2 has, is measured beside it.",
        "The paper names its sources for the parameters of RED, REM and PI but prints none. RED: "
        "w_q 0.002, max_p 0.1, gentle. REM: gamma 0.001, phi 1.001, alpha 0.1, every 2 ms. PI: "
        "a 1.822e-5, b 1.816e-5, 170 Hz.",
        "AVQ begins with a virtual capacity of 0.8 C, as its author's code does.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
