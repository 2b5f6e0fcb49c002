"""Figure 6: unequal numbers of flows, against WFQ with one queue a level."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from marqueue.papers.chokew.measures import of_flows, swept
from marqueue.papers.chokew.setups import WINDOWS, label, level, under, varied
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "wfq")
RATIOS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
#: The control: levels of one weight, which no scheme may tell apart.
EQUAL = 1.0
ALL = (EQUAL, *RATIOS)
LEVELS = {"low": ("w = 1", level(1)), "high": ("w(2)", level(2))}


def name(scheme: str, ratio: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{ratio:g}"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and ratio of weights: 25 flows of weight 1, 75 of the other."""
    return {
        name(scheme, ratio): under(scheme, [(1.0, 25), (ratio, 75)], overrides=varied(choice))
        for scheme in COMPARED
        for ratio in ALL
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Mean goodput of a flow of each level, and the same over that with equal weights."""
    window = WINDOWS[choice["window"]].index
    out = {}
    for scheme in COMPARED:
        names = {ratio: name(scheme, ratio) for ratio in ALL}
        for key, (of, group) in LEVELS.items():
            of = f"{label(scheme)}, {of}"
            goodput = swept(
                runs, names, "w(2)/w(1)", of_flows, of, "goodput_per_flow", group, window
            )
            out[f"goodput.{scheme}-{key}"] = goodput
            out[f"change.{scheme}-{key}"] = replace(
                goodput,
                label="Goodput over that with equal weights",
                values=goodput.values / goodput.values[:, :1],
                unit="",
            )
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per scheme and level."""
    caption = (
        "Mean goodput of a flow, 25 flows of weight 1 and 75 of weight w(2). Under WFQ, with a "
        "queue a level, the curves cross where the ratio is that of the numbers of flows."
    )
    shown = [each for name, each in quantities.items() if name.startswith("goodput")]
    return [sweep_figure("Figure 6", caption, shown, "w(2)/w(1)", floor=0.0)]


EXPERIMENT = Experiment(
    readings=(
        "WFQ has a queue for each level, with room for 125 and 375 packets and the weights of the "
        "levels.",
        "A ratio of 1 is the control, which is not in the paper.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
