"""Figure 11: fairness between flows of four round-trip times."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, swept
from marqueue.papers.chokew.setups import label, under
from marqueue.papers.drawn import Drawn, against
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.scenario import Scenario

#: RED and BLUE as in the paper; the others for the ledger.
COMPARED = ("chokew", "red", "blue")
BESIDE = ("choke", "fq_codel")
FLOWS = (160, 200, 240, 280)
RTTS = 'topology.rtts=["6 ms", "60 ms", "100 ms", "150 ms"]'


def name(scheme: str, flows: int) -> str:
    """Of a set-up."""
    return f"{scheme}-{flows}"


def setups() -> Mapping[str, Scenario]:
    """One a scheme and number of flows."""
    return {
        name(scheme, n): under(scheme, {1.0: n}, overrides=[RTTS])
        for scheme in (*COMPARED, *BESIDE)
        for n in FLOWS
    }


def measure(runs: Runs) -> Quantities:
    """Jain's index."""
    return {
        f"jain.{scheme}": swept(
            runs, {float(n): name(scheme, n) for n in FLOWS}, "N", of_flows, label(scheme), "jain"
        )
        for scheme in (*COMPARED, *BESIDE)
    }


def draw(_: Runs, quantities: Quantities) -> Sequence[Drawn]:
    """A curve a scheme."""
    compared = [quantities[f"jain.{scheme}"] for scheme in (*COMPARED, *BESIDE)]
    caption = "Jain's index of goodputs. CHOKe and FQ-CoDel are not in the paper's."
    return [against("Figure 11", caption, compared, "TCP flows")]


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1; a quarter each has a round-trip propagation delay of 6, 60, 100 "
        "and 150 ms. Goodputs are those of 500 s after the first 500 s.",
        "CHOKe, and FQ-CoDel as a scheme with a queue a flow, are shown beside them.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
