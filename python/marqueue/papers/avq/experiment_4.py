"""Experiment 4: short flows come at a growing rate. Figures 12, 13 and 14."""

from collections.abc import Mapping, Sequence

from marqueue.papers.avq.setups import handshake, label, under
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, over_windows
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("avq", "red", "rem", "pi", "gkvq")
#: Additional schemes, for the ledger: AVQ with the whole buffer, and RED with other thresholds.
WHOLE, LOW = "avq-100", "red-5-15"

VARIABLE = "Short flows per second"
#: Span of time with each rate of short flows, s.
PLACES = {float(rate): (10.0 * rate, 10.0 * rate + 100.0) for rate in (10, 20, 30, 40, 50)}

FIGURES = {"losses": "drops", "utilization": "utilization", "queue": "queue_mean"}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme, and AVQ with the whole buffer."""
    start = handshake(choice)
    compared = {
        scheme: under("experiment-4", scheme, choice, *start) for scheme in (*COMPARED, LOW)
    }
    whole = under("experiment-4", "avq", choice, "topology.bottleneck.buffer=100 packets", *start)
    return compared | {WHOLE: whole}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Packets lost, utilization and mean queue at each rate."""
    names = {scheme: label(scheme) for scheme in (*COMPARED, LOW)} | {WHOLE: "AVQ, buffer 100"}
    return {
        f"{name}.{scheme}": over_windows(run, names[scheme], figure, "rate", PLACES)
        for name, figure in FIGURES.items()
        for scheme, run in runs.items()
    }


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A figure per quantity."""

    def drawn(name: str, what: str, caption: str) -> PaperFigure:
        compared = [quantities[f"{what}.{scheme}"] for scheme in COMPARED]
        return sweep_figure(name, f"{caption} with short flows at that rate.", compared, VARIABLE)

    return [
        drawn("Figure 12", "losses", "Packets lost in the 100 s"),
        drawn("Figure 13", "utilization", "Utilization in the 100 s"),
        drawn("Figure 14", "queue", "Mean queue in the 100 s"),
    ]


EXPERIMENT = Experiment(
    readings=(
        "The schemes have 100 s to settle. Then short flows arrive at 10 a second, and at 10 more "
        "after every 100 s, in one run of 600 s. Figures are averages over 100 s.",
        "The schemes are set as in Experiment 2: AVQ holds at most 50 packets. The paper does not "
        "say so here; AVQ with all 100 is measured too.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
