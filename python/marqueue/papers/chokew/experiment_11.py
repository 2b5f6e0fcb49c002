"""Figure 11: fairness between flows of four round-trip times."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import fairness, of_link, swept
from marqueue.papers.chokew.setups import WINDOWS, label, under, varied
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: RED and BLUE as in the paper; the others are for the ledger.
COMPARED = ("chokew", "red", "blue")
BESIDE = ("choke", "fq_codel")
FLOWS = (160, 200, 240, 280)
RTTS = 'topology.rtts=["6 ms", "60 ms", "100 ms", "150 ms"]'


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows."""
    return {
        name(scheme, n): under(scheme, {1.0: n}, overrides=[RTTS, *varied(choice)])
        for scheme in (*COMPARED, *BESIDE)
        for n in FLOWS
    }


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Jain's index; queue and losses for the ledger."""
    window = WINDOWS[choice["window"]].index
    out = {}
    for scheme in (*COMPARED, *BESIDE):
        names, of = {float(n): name(scheme, n) for n in FLOWS}, label(scheme)
        out[f"jain.{scheme}"] = swept(runs, names, "N", fairness, of, window)
        out[f"queue.{scheme}"] = swept(runs, names, "N", of_link, of, "queue_mean", window)
        out[f"losses.{scheme}"] = swept(runs, names, "N", of_link, of, "loss_ratio", window)
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per scheme."""
    compared = [quantities[f"jain.{scheme}"] for scheme in (*COMPARED, *BESIDE)]
    caption = (
        "Jain's index of goodputs; 1 is fair (the axis does not begin at 0). CHOKe and FQ-CoDel "
        "are not in the paper's."
    )
    return [sweep_figure("Figure 11", caption, compared, "TCP flows")]


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1; a quarter each has a round-trip propagation delay of 6, 60, 100 "
        "and 150 ms.",
        "CHOKe, and FQ-CoDel as a scheme with a queue for each flow, are added for comparison.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
