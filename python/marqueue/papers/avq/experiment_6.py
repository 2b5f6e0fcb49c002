"""Experiment 6: marks are losses. Figures 19, 20 and 21."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.avq.setups import adaptation, handshake, label, scenario, under
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, over_flows, over_windows
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

FILE = "experiment-6"
COMPARED = ("red", "rem", "pi")

#: RED in the virtual queue: the compared setting, and another for sensitivity.
INNER = {
    "avq-red": '{ name = "red", min_th = "37 packets", max_th = "75 packets", w_q = 0.002 }',
    "avq-red-20-60": '{ name = "red", min_th = "20 packets", max_th = "60 packets", w_q = 0.01 }',
}

LABELS = {
    **{scheme: label(scheme) for scheme in COMPARED},
    "avq": "AVQ 0.98",
    "avq-1": "AVQ 1.0",
    "avq-red": "AVQ with RED",
    "avq-red-20-60": "AVQ with RED 20/60",
}
DRAWN = ("avq", "avq-1", "avq-red", *COMPARED)

VARIABLE = "Short flows per second"
#: Span of time with each rate of short flows, s.
PLACES = {float(rate): (10.0 * rate, 10.0 * rate + 100.0) for rate in (10, 20, 30, 40, 50)}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """RED, REM, PI; AVQ for two gammas; AVQ with RED in its virtual queue."""
    of_aqm, start = "topology.bottleneck.aqm", handshake(choice, "short")
    read = (*adaptation(choice), *start)
    inside = {
        name: scenario(
            FILE, f"{of_aqm}.name=avq_inner", f"{of_aqm}.inner={red}", f"name={name}", *read
        )
        for name, red in INNER.items()
    }
    return {
        "avq": under(FILE, "avq", choice, *start),
        "avq-1": scenario(FILE, f"{of_aqm}.gamma=1.0", "name=AVQ, Experiment 6, gamma 1", *read),
        **inside,
        **{s: under(FILE, s, choice, "topology.bottleneck.signal=drop", *start) for s in COMPARED},
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Queue, utilization, losses, goodput and fairness at each rate."""
    of_link = {"queue": "queue_mean", "utilization": "utilization", "losses": "loss_ratio"}
    link = {
        f"{name}.{scheme}": over_windows(run, LABELS[scheme], figure, "rate", PLACES)
        for name, figure in of_link.items()
        for scheme, run in runs.items()
    }
    flows = {
        f"{figure}.{scheme}": over_flows(run, LABELS[scheme], figure, "rate", PLACES)
        for figure in ("goodput", "jain")
        for scheme, run in runs.items()
    }
    goodputs = [flows[f"goodput.{scheme}"] for scheme in DRAWN]
    unfair = unfairness(flows["jain.avq-red"], flows["jain.avq"])
    return link | flows | {"goodput-spread": spread(goodputs), "unfairness": unfair}


def unfairness(inner: Quantity, outer: Quantity) -> Quantity:
    """What is missing to a Jain's index of 1, relative to that of another scheme."""
    values = (1 - inner.values) / (1 - outer.values)
    label = "1 - Jain's index, relative"
    return replace(inner, label=label, of=f"{inner.of}, to {outer.of}", values=values)


def spread(goodputs: Sequence[Quantity]) -> Quantity:
    """Difference between best and worst goodput, relative to the mean."""
    values = np.stack([each.values for each in goodputs])
    relative = (values.max(axis=0) - values.min(axis=0)) / values.mean(axis=0)
    first = goodputs[0]
    return Quantity("Spread of goodputs", "all schemes", relative, "", first.variable, first.places)


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A figure per quantity."""

    def drawn(name: str, what: str, caption: str) -> PaperFigure:
        compared = [quantities[f"{what}.{scheme}"] for scheme in DRAWN]
        return sweep_figure(name, f"{caption} with short flows at that rate.", compared, VARIABLE)

    return [
        drawn("Figure 19", "queue", "Mean queue in the 100 s"),
        drawn("Figure 20", "utilization", "Utilization in the 100 s"),
        drawn("Figure 21", "goodput", "Goodput of all flows in the 100 s"),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Short flows arrive at 10 a second from 100 s on, and at 10 more after every 100 s, in one "
        "run of 600 s, as in Experiment 4. Figures are averages over 100 s.",
        "ECN is off. The buffer is 100 packets for all schemes.",
        "The RED in the virtual queue has the thresholds of Experiment 2; the paper gives none. A "
        "second RED there, 20/60 with w_q 0.01, shows how much they matter.",
        "Goodput is the data that receivers got in order, over all flows.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
