"""Figures 7 and 8: three and four levels, more and more flows."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, starved, swept
from marqueue.papers.chokew.setups import WINDOWS, level, under, varied
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

WEIGHTS = (1.0, 1.5, 2.0, 2.5)
#: Figure by number of levels.
FIGURES = {3: "Figure 7", 4: "Figure 8"}
#: Flows of each level.
EACH = (25, 50, 75, 100)


def name(levels: int, each: int) -> str:
    """Name of a set-up."""
    return f"levels-{levels}-{each}"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per number of levels and number of flows in each."""
    return {
        name(levels, each): under(
            "chokew", dict.fromkeys(WEIGHTS[:levels], each), overrides=varied(choice)
        )
        for levels in FIGURES
        for each in EACH
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodput and starved flows of each level."""
    window = WINDOWS[choice["window"]].index
    out = {}
    for levels in FIGURES:
        names = {float(each): name(levels, each) for each in EACH}
        for k, weight in enumerate(WEIGHTS[:levels], start=1):
            of, group = f"w = {weight:g}", level(k)
            out[f"goodput.{levels}-{k}"] = swept(
                runs, names, "flows a level", of_flows, of, "goodput", group, window
            )
            out[f"starved.{levels}-{k}"] = swept(
                runs, names, "flows a level", starved, of, group, window
            )
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A figure per number of levels, a curve per level."""
    return [
        sweep_figure(
            figure,
            f"Goodput of all flows of a level, {levels} levels: in the order of their weights.",
            [quantities[f"goodput.{levels}-{k}"] for k in range(1, levels + 1)],
            "TCP flows of each level",
            floor=0.0,
        )
        for levels, figure in FIGURES.items()
    ]


EXPERIMENT = Experiment(
    readings=("25, 50, 75 and 100 flows of each level. At 400 flows p0 rises until 600 s.",),
    setups=setups,
    measure=measure,
    draw=draw,
)
