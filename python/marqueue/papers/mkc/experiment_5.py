"""Figures 5 and 6: convergence of EMKC to a full link, with Scalable TCP and for several beta."""

from collections.abc import Mapping, Sequence

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.measures import (
    computed,
    largest_distance,
    map_figure,
    measure_rate,
    overshoot,
    sender_figure,
    swept,
    total_rate,
)
from marqueue.papers.mkc.setups import emkc, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.mkc.paper_data import figure_5, figure_6, steps_to_saturation

#: beta of maps and of packet simulations.
MAPS, PACKETS = (0.5, 1.0, 1.5, 1.9), (0.5, 0.9, 1.5)
LATE = (10.0, 12.0)


def settled(beta: float, capacity: float, alpha: float) -> float:
    """The stationary rate of one flow, C + alpha / beta."""
    return capacity + alpha / beta


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per beta."""
    return {
        f"beta-{beta:g}": one_link(
            f"One EMKC flow, beta = {beta:g}",
            emkc("100 kbit/s", beta),
            overrides=["duration=12 s"],
        )
        for beta in PACKETS
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Steps until the link is full; overshoot and remaining distance."""
    filled = dict(zip(("emkc", "scalable"), figure_5(), strict=True))
    maps = {beta: total_rate(figure_6(beta)) for beta in MAPS}
    stationary = {beta: settled(beta, 1.0, 0.01) for beta in MAPS}
    out = {
        f"full.{law}": single(
            "Steps until the link is full", law, [float(steps_to_saturation(x, 1e9) or -1)]
        )
        for law, x in filled.items()
    }
    out["overshoot.map"] = computed(
        "Overshoot", "map", {b: overshoot(x, stationary[b]) for b, x in maps.items()}, "beta"
    )
    out["away.map"] = computed(
        "Distance from X*, steps 31 to 40",
        "map",
        {b: largest_distance(x[31:], stationary[b]) for b, x in maps.items()},
        "beta",
    )
    names = {beta: f"beta-{beta:g}" for beta in PACKETS}
    of = {runs[name].name: settled(beta, 10.0, 0.1) for beta, name in names.items()}
    out["overshoot.packets"] = swept(
        runs,
        names,
        "beta",
        lambda run: measure_rate(
            run, "Overshoot", "packets", lambda x: overshoot(x.value, of[run.name])
        ),
    )
    out["away.packets"] = swept(
        runs,
        names,
        "beta",
        lambda run: measure_rate(
            run,
            "Distance from X*, 10 to 12 s",
            "packets",
            lambda x: largest_distance(x.within(*LATE).value, of[run.name]),
        ),
    )
    return out


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Steps of maps; rates of packets."""
    emkc_rates, scalable = (total_rate(each) for each in figure_5())
    return [
        map_figure(
            "Figure 5",
            "One source fills 1 Gbit/s from 10 kbit/s.",
            {"EMKC": {"": emkc_rates[:31]}, "Scalable TCP": {"": scalable}},
            shared=False,
        ),
        map_figure(
            "Figure 6",
            "One EMKC source on 1 Mbit/s.",
            {f"beta = {b:g}": {"": total_rate(figure_6(b))} for b in MAPS},
        ),
        sender_figure(
            "Figure 6, packets",
            "One EMKC flow on 10 Mbit/s.",
            {f"beta = {b:g}": runs[f"beta-{b:g}"] for b in PACKETS},
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Maps: Figure 5 from 10 kbit/s, alpha; Figure 6 from alpha, C = 1 Mbit/s, alpha = 10 "
        "kbit/s. The paper gives neither, nor the two values of beta in Figure 6: 0.5, 1, 1.5 and "
        "1.9 are used.",
        "Packets, which are not in the paper's figures: C = 10 Mbit/s, alpha = 100 kbit/s, 200 "
        "bytes, Delta = 50 ms, a round-trip time of 50 ms.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
