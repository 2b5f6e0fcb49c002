"""Figure 4: the distribution of goodput over flows, CHOKeW and three RIOs."""

from collections.abc import Mapping, Sequence

import numpy as np

from marqueue.papers.chokew.measures import of_flows, smallest_goodput, starved
from marqueue.papers.chokew.setups import WINDOWS, label, level, under, varied
from marqueue.papers.figures import PaperFigure, distribution_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "rio-1", "rio-2", "rio-3")
LEVELS = {"low": level(1), "high": level(2)}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A hundred flows of each level under each scheme."""
    return {
        scheme: under(scheme, {1.0: 100, 2.0: 100}, overrides=varied(choice)) for scheme in COMPARED
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Number of starved flows of each level, smallest goodput, and goodput of the level."""
    judged = WINDOWS[choice["window"]]
    out = {}
    for scheme, run in runs.items():
        for name, group in LEVELS.items():
            for when, window in {"": judged.index, "-late": judged.late}.items():
                of = f"{label(scheme)}, {name}"
                out[f"starved{when}.{scheme}-{name}"] = starved(run, of, group, window)
                out[f"least{when}.{scheme}-{name}"] = smallest_goodput(run, of, group, window)
                out[f"goodput{when}.{scheme}-{name}"] = of_flows(run, of, "goodput", group, window)
    return out


def draw(runs: Runs, _: Quantities, choice: Choice) -> Sequence[PaperFigure]:
    """A figure per level."""

    judged = WINDOWS[choice["window"]]

    def drawn(name: str, seen: str) -> PaperFigure:
        samples = {
            label(scheme): np.concatenate(
                [each.rates * 1e-3 for each in run.flow_sets(judged.index, group=LEVELS[name])]
            )
            for scheme, run in runs.items()
        }
        caption = (
            f"Goodput of flows of the {name} level, {judged.seconds}, all replications. {seen}"
        )
        return distribution_figure(
            f"Figure 4, {name} level", caption, samples, "Goodput", "kbit/s", log=name == "low"
        )

    return [
        drawn("low", "RIO leaves flows a fraction of what CHOKeW leaves them, but each something."),
        drawn("high", "What RIO takes from the low level its high level has."),
    ]


EXPERIMENT = Experiment(
    readings=(
        "200 flows start within 1 s.",
        "Low flows have weight 1, or are out under RIO; high flows have weight 2, or are in.",
        "A starved flow is one that got nothing in the judged time.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
