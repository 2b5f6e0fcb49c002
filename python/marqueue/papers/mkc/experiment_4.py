"""Figure 4: two EMKC flows under equal and unequal delays, by maps and packets."""

from collections.abc import Mapping, Sequence

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.measures import (
    fairness,
    map_figure,
    measure_all_rates,
    overshoot,
    sender_figure,
    total,
    total_rate,
)
from marqueue.papers.mkc.setups import emkc, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.mkc import Loss, Mkc, Network, iterate
from marqueue.theory.mkc.paper_data import figure_4

#: X* of the map and of the packet simulation, Mbit/s.
SETTLED, STATIONARY = 10_800.0, 10.8
#: Round-trip times of the packet simulation.
RTTS = {"equal": ("100 ms", "100 ms"), "unequal": ("20 ms", "400 ms")}
#: The same in steps of the interval, rounded: 1 + RTT / Delta.
UNEQUAL = (1, 9)
MAPS = {"equal": False, "random": True}
LATE = (30.0, 40.0)


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """Equal and unequal round-trip times."""
    return {
        name: one_link(
            f"Two EMKC flows, {' and '.join(rtts)}",
            emkc("200 kbit/s", 0.5),
            rates=["1 Mbit/s", "5 Mbit/s"],
            rtts=rtts,
            overrides=["duration=40 s"],
        )
        for name, rtts in RTTS.items()
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Overshoot and fairness."""
    out = {}
    for name, random in MAPS.items():
        done = figure_4(random)
        past = overshoot(total_rate(done), SETTLED)
        out[f"overshoot.map.{name}"] = single("Overshoot", f"map, {name} delays", [past])
        out[f"fair.map.{name}"] = single(
            "Lesser over greater rate, step 4000", f"map, {name} delays", [float(done.fairness[-1])]
        )
    out["fair.map.later"] = single(
        "Lesser over greater rate, step 8000",
        "map, random delays",
        [float(figure_4(random=True, steps=8000).fairness[-1])],
    )
    network = Network.single(10_000.0, 2, UNEQUAL)
    unequal = iterate(network, Mkc(200.0, 0.5), Loss(network.capacity), [1000.0, 5000.0], 400)
    out["overshoot.map.unequal"] = single(
        "Overshoot", "map, delays of 1 and 9", [overshoot(unequal.total, SETTLED)]
    )
    for name, run in runs.items():
        of = f"packets, {name} delays"
        out[f"overshoot.packets.{name}"] = measure_all_rates(
            run, "Overshoot", of, lambda each: overshoot(total(each).value, STATIONARY)
        )
        out[f"fair.packets.{name}"] = measure_all_rates(
            run,
            "Lesser over greater rate, last 10 s",
            of,
            lambda each: fairness([x.mean(*LATE) for x in each]),
        )
    return out


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Maps in two panels, packet simulation in two."""
    panels = {}
    for title, random in (("D = 20", False), ("D of 1 to 100, at random", True)):
        done = figure_4(random)
        x1, x2 = done.rates.T * 1e-6
        panels[title] = {"x1": x1, "x2": x2, "x1 + x2": total_rate(done)}
    return [
        map_figure("Figure 4", "Two EMKC sources on 10 Gbit/s.", panels),
        sender_figure(
            "Figure 4, packets",
            "Two EMKC flows on 10 Mbit/s.",
            {f"RTT of {' and '.join(RTTS[name])}": run for name, run in runs.items()},
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Maps: alpha = 200 Mbit/s, beta = 0.5, C = 10 Gbit/s, 4000 steps from 1 and 5 Gbit/s; the "
        "paper does not give the start and the length. Random delays are drawn anew for each "
        "source at each step; the reference rate is the one that the feedback answers.",
        "Packets, which are not in the paper: a thousandth of all rates, Delta = 50 ms, "
        "round-trip times of 100 ms, or of 20 and 400 ms.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
