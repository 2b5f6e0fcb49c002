"""EMKC and TCP: in one queue, in one queue with an adaptive price, and in a queue each."""

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.mkc.setups import built, table
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import FIGURES, FLOWS, Quantities, Runs, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

C = 10.0
GROUPS = {"mkc": "EMKC", "tcp": "TCP"}
#: The router of each set-up, and its label.
ROUTERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "one": ("One queue", {"name": "mkc"}),
    "adaptive": ("One queue, adaptive price", {"name": "mkc_lossfree"}),
    "two": ("Two queues", {"name": "drr_mkc", "share": 0.5}),
}


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per router."""
    out = {}
    for key, (called, aqm) in ROUTERS.items():
        data = table("beside-tcp")
        data["topology"]["bottleneck"]["aqm"] = {**aqm, "delta": "50 ms"}
        out[key] = built(data, f"EMKC beside TCP: {called.lower()}")
    return out


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Shares of the link, losses and the queue."""
    out = {}
    for key, (called, _) in ROUTERS.items():
        run = runs[key]
        for group, shown in GROUPS.items():
            taken = FLOWS["goodput"]
            goodput = [taken.value(f) * taken.scale / C for f in run.flow_sets(group=group)]
            out[f"share.{group}.{key}"] = single(f"Goodput over C, {shown}", called, goodput)
        for figure in ("loss_ratio", "queue_mean"):
            of = FIGURES[figure]
            values = [of.value(w) * of.scale for w in run.link().windows()]
            out[f"{figure}.{key}"] = single(of.label, called, values, of.unit)
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """A row per router."""
    measured = ("share.mkc", "share.tcp", "loss_ratio", "queue_mean")
    return [
        PaperTable(
            "Beyond 1",
            "Two EMKC flows and four of TCP on 10 Mbit/s.",
            ("Router", "EMKC, of C", "TCP, of C", "Loss ratio", "Queue, packets"),
            [
                [called, *(quantities[f"{each}.{key}"].estimates[0] for each in measured)]
                for key, (called, _) in ROUTERS.items()
            ],
        )
    ]


EXPERIMENT = Experiment(
    readings=(
        "Claims here are ours: the paper has no other traffic. Two EMKC flows (alpha = 50 kbit/s, "
        "beta = 0.5, packets of 1000 bytes) and four TCP flows (preset `rfc`), round-trip times "
        "of 40 and 60 ms, 10 Mbit/s, a buffer of 100 packets; 40 s after 20 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
