"""Figure 5: goodput of two levels as flows are added."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, starved, swept
from marqueue.papers.chokew.setups import WINDOWS, level, under, varied
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

FLOWS = (50, 100, 150, 200, 250)
NAMES = {float(n): f"flows-{n}" for n in FLOWS}
LEVELS = {"low": ("w = 1", level(1)), "high": ("w = 2", level(2))}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per number of flows, half of each level."""
    return {
        name: under("chokew", {1.0: int(n) // 2, 2.0: int(n) // 2}, overrides=varied(choice))
        for n, name in NAMES.items()
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodput and starved flows of each level."""
    judged = WINDOWS[choice["window"]]
    out = {}
    for key, (of, group) in LEVELS.items():
        for when, window in {"": judged.index, "-late": judged.late}.items():
            out[f"goodput{when}.{key}"] = swept(
                runs, NAMES, "N", of_flows, of, "goodput", group, window
            )
        out[f"starved.{key}"] = swept(runs, NAMES, "N", starved, of, group, judged.index)
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per level."""
    both = [quantities[f"goodput.{key}"] for key in LEVELS]
    caption = "Goodput of all flows of a level. The more flows, the more their weights tell."
    return [sweep_figure("Figure 5", caption, both, "TCP flows", floor=0.0)]


EXPERIMENT = Experiment(
    readings=("As in Experiment 4, with 50 to 250 flows, half of weight 1 and half of weight 2.",),
    setups=setups,
    measure=measure,
    draw=draw,
)
