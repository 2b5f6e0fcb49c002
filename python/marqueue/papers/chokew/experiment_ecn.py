"""Beyond the paper: flows with ECN, which matched drops do not mark."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_link, ratio, swept
from marqueue.papers.chokew.setups import label, level, tcp, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "red", "fq_codel")
ALL = 50
#: Number of these flows that use ECN.
WITH = (5, 15, 25, 35, 45)
VARIABLE = "flows with ECN"
OVERRIDES = (
    'transport.ecn={preset="ns2", recovery="sack", ecn=true}',
    "topology.bottleneck.signal=ecn",
)


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """50 flows, some with ECN, under schemes that may mark."""
    return {
        name(scheme, n): under(scheme, {1.0: ALL - n}, tcp("ecn", n, "ecn"), overrides=OVERRIDES)
        for scheme in COMPARED
        for n in WITH
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Ratio of goodputs with and without ECN; marks and losses."""
    out = {}
    for scheme in COMPARED:
        names, of = {float(n): name(scheme, n) for n in WITH}, label(scheme)
        with_over = (of, "with ECN over without", "ecn", level(1))
        out[f"ecn.{scheme}"] = swept(runs, names, VARIABLE, ratio, *with_over)
        for key, figure in {"marks": "mark_ratio", "losses": "loss_ratio"}.items():
            out[f"{key}.{scheme}"] = swept(runs, names, VARIABLE, of_link, of, figure)
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """The ratio by the number of flows with ECN; marks and losses as a table."""
    keys = ("marks", "losses", "ecn")
    return [
        sweep_figure(
            "ECN 1",
            "What a flow with ECN gets over what a flow without gets; 1 is fair. 50 flows in all.",
            [quantities[f"ecn.{scheme}"] for scheme in COMPARED],
            "Flows with ECN",
            floor=0.0,
        ),
        PaperTable(
            "ECN 2",
            "The same, with the shares of packets that are marked and lost.",
            (
                "",
                "Flows with ECN",
                "Marked",
                "Lost",
                "With ECN over without",
            ),
            [
                [label(scheme), f"{n}",
                 *(quantities[f"{key}.{scheme}"].estimates[i] for key in keys)]
                for scheme in COMPARED
                for i, n in enumerate(WITH)
            ],
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1. RED has the paper's parameters and marks instead of dropping; "
        "FQ-CoDel marks too. The claims are ours.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    found=(
        "A matched drop cannot be replaced by a mark: it removes two packets of one flow, one of "
        "which is already in the queue. CHOKeW therefore never marks and treats flows with and "
        "without ECN alike, however many of each there are. Flows with ECN have no benefit from "
        "it: as many packets are lost as without.",
        "Under RED, where marks replace losses, flows with ECN get a sixth to a fifth more than "
        "others, and fewer packets are lost the more of them there are. Under FQ-CoDel they get "
        "less than others with so many flows on so slow a link; the ledger gives the likely "
        "reason.",
    ),
)
