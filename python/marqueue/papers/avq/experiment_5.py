"""Experiment 5: AVQ's sensitivity to alpha and gamma. Figures 15 to 18."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from marqueue.papers.avq.setups import adaptation, handshake, scenario
from marqueue.papers.figures import PaperFigure, stacked_panels
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import (
    Quantities,
    Quantity,
    Runs,
    Span,
    over_span,
    settling,
    side_by_side,
    stepped,
)
from marqueue.papers.readings import Choice
from marqueue.plots import Curve
from marqueue.results import Result
from marqueue.scenario import Scenario

ALPHAS = (0.2, 0.4, 0.6, 0.8)
GAMMAS = (0.9, 0.98, 0.99, 1.0)

JOINED = 100.0
CHANGES = (JOINED,)
BEFORE, TRANSIENT, SETTLED = (50.0, 100.0), (100.0, 120.0), (150.0, 200.0)

#: Quantities by name: figure of the link and span of time.
FIGURES = {
    "queue-before": ("queue_mean", BEFORE),
    "queue-transient": ("queue_mean", TRANSIENT),
    "queue-settled": ("queue_mean", SETTLED),
    "losses-before": ("drops", BEFORE),
    "losses-joined": ("drops", (100.0, 200.0)),
    "losses-settled": ("drops", SETTLED),
    "utilization-before": ("utilization", BEFORE),
    "utilization-settled": ("utilization", SETTLED),
}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per alpha, and per gamma with half as long short flows at twice the rate."""
    of_aqm, read = "topology.bottleneck.aqm", (*adaptation(choice), *handshake(choice))
    alphas = {
        f"alpha-{alpha:g}": scenario(
            "experiment-1", f"{of_aqm}.alpha={alpha:g} /s", f"name=AVQ, alpha {alpha:g}", *read
        )
        for alpha in ALPHAS
    }
    gammas = {
        f"gamma-{gamma:g}": scenario(
            "experiment-1",
            f"{of_aqm}.alpha=0.5 /s",
            f"{of_aqm}.gamma={gamma:g}",
            "traffic.short.rate=60 /s",
            "traffic.short.size=10 packets",
            f"name=AVQ, gamma {gamma:g}",
            *read,
        )
        for gamma in GAMMAS
    }
    return alphas | gammas


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Queue, losses and utilization before, during and after the transient, and its length."""

    def across(swept: str, places: Sequence[float], how: Callable[[Result], Quantity]) -> Quantity:
        return side_by_side({p: how(runs[f"{swept}-{p:g}"]) for p in places}, swept)

    out = {}
    for swept, places in {"alpha": ALPHAS, "gamma": GAMMAS}.items():
        for name, (figure, times) in FIGURES.items():
            out[f"{name}.{swept}"] = across(swept, places, _taken(figure, times))
        out[f"settle.{swept}"] = across(
            swept, places, lambda run: settling(run, "AVQ", JOINED, 200.0)
        )
    out["off-gamma"] = off_gamma(out["utilization-settled.gamma"])
    return out


def _taken(figure: str, times: Span) -> Callable[[Result], Quantity]:
    return lambda run: over_span(run, "AVQ", figure, *times)


def off_gamma(utilization: Quantity) -> Quantity:
    """Utilization minus gamma."""
    values = utilization.values - np.array(utilization.places)
    return Quantity("Utilization − gamma", "AVQ", values, "", "gamma", utilization.places)


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """q(t) for each alpha and gamma; losses and utilization for each gamma."""

    def curves(
        swept: str, places: Sequence[float], name: str, how: Callable[..., np.ndarray] | None
    ) -> dict[str, Curve]:
        out = {}
        for place in places:
            series = runs[f"{swept}-{place:g}"].link().series(name)
            out[f"{swept} = {place:g}"] = Curve(*(stepped(series, 1.0, how) if how else series))
        return out

    joined = "Short flows join at 100 s (dotted)."
    lost = curves("gamma", GAMMAS, "drops", np.sum)
    most = max(c.values[:, c.t > BEFORE[0]].max() for c in lost.values())
    return [
        stacked_panels(
            "Figure 15",
            f"Queue for values of alpha, gamma 0.98. {joined}",
            curves("alpha", ALPHAS, "queue", None),
            "Queue",
            "packets",
            CHANGES,
        ),
        stacked_panels(
            "Figure 16",
            f"Queue for values of gamma, alpha 0.5. {joined}",
            curves("gamma", GAMMAS, "queue", None),
            "Queue",
            "packets",
            CHANGES,
        ),
        stacked_panels(
            "Figure 17",
            f"Packets lost in each second for values of gamma. {joined} "
            "The losses at the start of the flows go beyond the scale.",
            lost,
            "Lost",
            "packets",
            CHANGES,
            (0.0, 1.05 * float(most)),
        ),
        stacked_panels(
            "Figure 18",
            f"Utilization of each second for values of gamma. {joined}",
            curves("gamma", GAMMAS, "utilization", np.mean),
            "Utilization",
            "",
            CHANGES,
            (0.8, 1.02),
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "The set-up is that of Experiment 1, 200 s. The paper gives only the range of alpha; 0.2, "
        "0.4, 0.6 and 0.8 are used here.",
        "For gamma, 60 short flows of 10 packets arrive each second instead of 30 of 20.",
        "The transient is measured from 100 to 120 s, the settled state from 150 to 200 s. The "
        "transient has ended when the mean queue of every 5 s stays within 10 packets of that of "
        "the last 20 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
