"""Figures 10 and 11: the start of one flow with the naive and with the correct reference rate."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.mkc.measures import Rate, measure_rate, overshoot, sender_figure, swept
from marqueue.papers.mkc.setups import flow, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario

LAWS = {"emkc_naive": "naive", "emkc": "proper"}
#: Round-trip times, ms; the paper has one, which it does not give.
RTTS = (10, 20, 30, 50, 60, 80, 100)
#: C and C + alpha / beta, Mbit/s.
C, SETTLED = 10.0, 10.0 + 0.1 / 0.9
#: A flow has settled within this share of it.
NEAR = 0.02
#: "The first quarter of a second".
EARLY = 0.25


def name(law: str, rtt: int) -> str:
    """Name of a set-up."""
    return f"{law}-{rtt}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per law and round-trip time."""
    return {
        name(law, rtt): one_link(
            f"One {shown} EMKC flow, {rtt} ms",
            flow(law, alpha="100 kbit/s", beta=0.9),
            rtts=[f"{rtt} ms"],
        )
        for law, shown in LAWS.items()
        for rtt in RTTS
    }


def early(x: Rate) -> float:
    """The largest rate of the first quarter of a second, relative to C."""
    return float(x.within(0, x.t[0] + EARLY).value.max()) / C


def settled(x: Rate) -> float:
    """Time until the rate stays within NEAR of the stationary rate, s."""
    return x.since(np.abs(x.value / SETTLED - 1) > NEAR)


FIGURES: Mapping[str, tuple[str, str, Callable[[Rate], float]]] = {
    "early": ("Largest rate of the first 0.25 s over C", "", early),
    "peak": ("Largest rate over C", "", lambda x: float(x.value.max()) / C),
    "settled": ("Time to settle within 2%", "s", settled),
    "fall": ("Largest fall", "Mbit/s", lambda x: x.fall),
    "overshoot": ("Overshoot", "", lambda x: overshoot(x.value, SETTLED)),
}


def figure(run: Result, law: str, key: str) -> Quantity:
    """One figure of a run."""
    label, unit, how = FIGURES[key]
    return measure_rate(run, label, LAWS[law], how, unit)


def shown(choice: Choice) -> int:
    """The round-trip time that the figure is taken to have, ms."""
    return int(choice["round-trip"].removesuffix("ms"))


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Figures of each law by round-trip time, and at that of the figure."""
    judged = {
        f"judged.{key}.{law}": figure(runs[name(law, shown(choice))], law, key)
        for law in LAWS
        for key in FIGURES
    }
    return judged | {
        f"{key}.{law}": swept(
            runs,
            {float(rtt): name(law, rtt) for rtt in RTTS},
            "RTT",
            partial(figure, law=law, key=key),
        )
        for law in LAWS
        for key in FIGURES
    }


def draw(runs: Runs, quantities: Quantities, choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Rates over time at one round-trip time, and the largest rates at all."""
    figures = {"emkc_naive": "Figure 10", "emkc": "Figure 11"}
    return [
        *(
            sender_figure(
                figures[law],
                f"One flow with the {of} reference rate on 10 Mbit/s, from 125 kbit/s.",
                {f"RTT = {shown(choice)} ms": runs[name(law, shown(choice))]},
            )
            for law, of in LAWS.items()
        ),
        PaperTable(
            "Table 10",
            "The largest rate over C by the round-trip time; an interval is 50 ms.",
            ("RTT, ms", *LAWS.values()),
            [
                [f"{rtt}", *(quantities[f"peak.{law}"].estimates[i] for law in LAWS)]
                for i, rtt in enumerate(RTTS)
            ],
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "alpha = 100 kbit/s, beta = 0.9, packets of 200 bytes, Delta = 50 ms, C = 10 Mbit/s, as "
        "in the paper. The paper does not give the initial rate (125 kbit/s, as in Figure 12), "
        "the buffer (100 packets), and when in an interval the flow starts (at random).",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
