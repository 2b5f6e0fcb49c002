"""Figure 6: unequal numbers of flows, against WFQ with one queue a level."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, swept
from marqueue.papers.chokew.setups import label, level, under
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "wfq")
RATIOS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
LEVELS = {"low": ("w = 1", level(1)), "high": ("w(2)", level(2))}


def name(scheme: str, ratio: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{ratio:g}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and ratio of weights: 25 flows of weight 1, 75 of the other."""
    return {
        name(scheme, ratio): under(scheme, {1.0: 25, ratio: 75})
        for scheme in COMPARED
        for ratio in RATIOS
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Mean goodput of a flow of each level."""
    return {
        f"goodput.{scheme}-{key}": swept(
            runs,
            {ratio: name(scheme, ratio) for ratio in RATIOS},
            "w(2)/w(1)",
            of_flows,
            f"{label(scheme)}, {of}",
            "goodput_per_flow",
            group,
        )
        for scheme in COMPARED
        for key, (of, group) in LEVELS.items()
    }


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per scheme and level."""
    caption = (
        "Mean goodput of a flow, 25 flows of weight 1 and 75 of weight w(2). Under WFQ, with a "
        "queue a level, the curves cross where the ratio is that of the numbers of flows."
    )
    return [sweep_figure("Figure 6", caption, list(quantities.values()), "w(2)/w(1)", floor=0.0)]


EXPERIMENT = Experiment(
    readings=(
        "WFQ has a queue for each level, with room for 125 and 375 packets and the weights of the "
        "levels.",
        "Goodput is that of 500 s after p0 has settled, as in Experiment 4.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
