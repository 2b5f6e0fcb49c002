"""Figures 9 and 10: constant-rate flows at ten times the link's rate, under CHOKeW and RIO; RED and
droptail for comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2

from marqueue.papers.chokew.measures import (
    mean_of,
    of_flows,
    of_link,
    share_above,
    swept,
    total,
)
from marqueue.papers.chokew.queue_shares import overflow_share, queue_share, recorded
from marqueue.papers.chokew.setups import (
    PAPERS_UDP,
    WINDOWS_UDP,
    label,
    level,
    shorter,
    udp,
    under,
    varied,
)
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
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
#: The bound (9) on p0 at which a flow of weight 1 with a hundredth of the queue is starved.
BLOCKS = -1 / log2(1 - 0.01)
#: Section 3.1: 100 TCP flows and this number of UDP flows, every packet recorded, for two minutes:
#: longer than p0 rises and the buffer overflows.
TRACED, SHARED = "shares", 5
RECORDED = ('duration="120 s"', 'cuts=["60 s"]', "topology.bottleneck.trace=true")
#: Levels and the code point of UDP there, by value of the reading ``weights``.
WEIGHTS: Mapping[str, tuple[Mapping[float, int], str]] = {
    "two-levels": ({1.0: 50, 2.0: 50}, "AF11"),
    "equal": ({1.0: 100}, "DF"),
}


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of constant-rate flows, with 50 TCP flows of each level; and
    that of section 3.1."""
    every = {
        name(scheme, flows): under(
            scheme, {1.0: 50, 2.0: 50}, udp(flows), overrides=[*PAPERS_UDP, *varied(choice)]
        )
        for scheme, numbers in FLOWS.items()
        for flows in numbers
    }
    levels, point = WEIGHTS[choice["weights"]]
    own = udp(SHARED, dscp=point)
    return every | {TRACED: under("chokew", levels, own, overrides=[*RECORDED, *varied(choice)])}


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Goodput of each level, of all TCP and of the constant-rate flows; queue, utilization, p0."""
    windows = {"": WINDOWS_UDP[choice["window-udp"]], "-settled": WINDOWS_UDP["settled"]}
    out: dict[str, Quantity] = {}
    for scheme, numbers in FLOWS.items():
        names, of = {float(flows): name(scheme, flows) for flows in numbers}, label(scheme)
        for when, window in windows.items():
            for key, (kind, group) in GROUPS.items():
                out[f"goodput{when}.{scheme}-{key}"] = swept(
                    runs, names, VARIABLE, of_flows, f"{of}, {kind}", "goodput", group, window
                )
            both = [out[f"goodput{when}.{scheme}-{key}"] for key in ("low", "high")]
            out[f"goodput{when}.{scheme}-tcp"] = total(both, f"{of}, all TCP")
            for key, figure in {"utilization": "utilization", "queue": "queue_mean"}.items():
                out[f"{key}{when}.{scheme}"] = swept(
                    runs, names, VARIABLE, of_link, of, figure, window
                )
    names = {float(flows): name("chokew", flows) for flows in UDP}
    judged = windows[""]
    for key in ("low", "high"):
        goodput = out[f"goodput.chokew-{key}"]
        out[f"drift.{key}"] = replace(
            goodput,
            label="Goodput over that beside one UDP flow",
            values=goodput.values / goodput.values[:, :1],
            unit="",
        )
    out["p0"] = swept(runs, names, VARIABLE, mean_of, "CHOKeW", "p0", "p0", judged)
    out["p0.blocks"] = swept(runs, names, VARIABLE, share_above, "CHOKeW", "p0", BLOCKS, judged)
    traced = runs[TRACED]
    tcp, packets = [group for group in traced.groups if group != "udp"], recorded(traced)
    out["queue-share.udp"] = queue_share(packets, "UDP", ["udp"])
    out["queue-share.tcp"] = queue_share(packets, "TCP", tcp)
    out["overflow.tcp"] = overflow_share(packets, "TCP", tcp)
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
        "Section 3.1's shares of the queue are those of the second of two minutes, in which p0 "
        "has settled, from a record of every packet.",
        "RED, with its parameters of section 4, and droptail are not in the paper's figure. They "
        "are compared with RIO here, and all three with ns-2 in the ledger, from 100 to 300 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
