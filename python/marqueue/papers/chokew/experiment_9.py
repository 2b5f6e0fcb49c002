"""Figures 9 and 10: constant-rate flows at ten times the link's rate, under CHOKeW and RIO; RED and
droptail for comparison."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import mean_of, of_flows, of_link, overflow, swept, total
from marqueue.papers.chokew.setups import BESIDE_UDP, label, level, udp, under
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "rio-3")
UDP = (1, 2, 4, 7, 10)
#: Additional schemes for the ledger, with these numbers of constant-rate flows.
BESIDE = ("red", "droptail")
ENDS = (1, 10)
FLOWS = dict.fromkeys(COMPARED, UDP) | dict.fromkeys(BESIDE, ENDS)
VARIABLE = "UDP flows"
GROUPS = {"low": ("TCP w = 1", level(1)), "high": ("TCP w = 2", level(2)), "udp": ("UDP", "udp")}


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of constant-rate flows, with 50 TCP flows of each level."""
    return {
        name(scheme, flows): under(scheme, {1.0: 50, 2.0: 50}, udp(flows), overrides=BESIDE_UDP)
        for scheme, numbers in FLOWS.items()
        for flows in numbers
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodput of each level, of all TCP and of the constant-rate flows; queue, utilization, p0."""
    out = {}
    for scheme, numbers in FLOWS.items():
        names = {float(flows): name(scheme, flows) for flows in numbers}
        for key, (of, group) in GROUPS.items():
            of = f"{label(scheme)}, {of}"
            found = swept(runs, names, VARIABLE, of_flows, of, "goodput", group)
            out[f"goodput.{scheme}-{key}"] = found
        both = [out[f"goodput.{scheme}-low"], out[f"goodput.{scheme}-high"]]
        out[f"goodput.{scheme}-tcp"] = total(both, f"{label(scheme)}, all TCP")
        for key, figure in {"utilization": "utilization", "queue": "queue_mean"}.items():
            out[f"{key}.{scheme}"] = swept(runs, names, VARIABLE, of_link, label(scheme), figure)
    names = {float(flows): name("chokew", flows) for flows in UDP}
    out["p0"] = swept(runs, names, VARIABLE, mean_of, "CHOKeW", "p0", "p0")
    out["overflow"] = swept(runs, names, VARIABLE, overflow, "CHOKeW")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Goodput, and p0."""
    curves = ("chokew-low", "chokew-high", "chokew-udp", "rio-3-tcp", "rio-3-udp")
    goodputs = [quantities[f"goodput.{curve}"] for curve in curves]
    return [
        sweep_figure(
            "Figure 9",
            "Goodput of all flows of a kind. CHOKeW blocks UDP and RIO, at the same 0, TCP.",
            goodputs,
            VARIABLE,
            floor=-0.03,
        ),
        sweep_figure(
            "Figure 10",
            "The basic drawing factor, CHOKeW: how often an arrival is compared, at weight 1.",
            [quantities["p0"]],
            VARIABLE,
            floor=0.0,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "50 TCP flows of each level and UDP flows of 10 Mbit/s each with weight 2, or in. RIO has "
        "the thresholds of section 4, those of RIO_3.",
        "Runs last 300 s, of which the first 100 s are left out: with so many arrivals p0 settles "
        "within 30 s.",
        "RED, with its parameters of section 4, and droptail are not in the paper's figure. They "
        "are compared with RIO here, and all three with ns-2 in the ledger.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
