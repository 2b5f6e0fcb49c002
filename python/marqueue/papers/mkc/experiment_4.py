"""Figure 4: two EMKC flows under equal and unequal delays, by maps and packets."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

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
from marqueue.papers.quantity import Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.mkc import Loss, Mkc, Network, Trajectory, iterate
from marqueue.theory.mkc.paper_data import figure_4

#: X* of the map and of the packet simulation, Mbit/s.
SETTLED, STATIONARY = 10_800.0, 10.8
#: Round-trip times of the packet simulation.
RTTS = {"equal": ("100 ms", "100 ms"), "unequal": ("20 ms", "400 ms")}
#: The same in steps of the interval, rounded: 1 + RTT / Delta.
UNEQUAL = (1, 9)
#: Seeds of random delays; the paper has one draw.
SEEDS = range(1, 13)
#: The longest delay, steps.
LONGEST = 100
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


@cache
def with_random_delays(how: str, seed: int, steps: int) -> Trajectory:
    """Figure 4 (b): delays drawn at each step, or one for each flow."""
    if how == "each-step":
        return figure_4(random=True, steps=steps, seed=seed)
    drawn = np.random.default_rng(seed).integers(1, LONGEST, size=2, endpoint=True)
    return figure_4(random=False, steps=steps, delay=[int(d) for d in drawn])


def maps(choice: Choice) -> dict[str, list[Trajectory]]:
    """The maps: with equal delays, and one for each seed of random delays."""
    steps = int(choice["length"])
    random = [with_random_delays(choice["delays"], seed, steps) for seed in SEEDS]
    return {"equal": [figure_4(random=False, steps=steps)], "random": random}


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Overshoot and fairness."""
    out: dict[str, Quantity] = {}
    for name, every in maps(choice).items():
        of = f"map, {name} delays"
        past = [overshoot(total_rate(done), SETTLED) for done in every]
        fair = [float(done.fairness[-1]) for done in every]
        out[f"overshoot.map.{name}"] = single("Overshoot", of, past)
        label = f"Lesser over greater rate, step {choice['length']}"
        out[f"fair.map.{name}"] = single(label, of, fair)
    for how in ("each-step", "per-flow"):
        past = [overshoot(total_rate(with_random_delays(how, s, 4000)), SETTLED) for s in SEEDS]
        later = [float(with_random_delays(how, s, 8000).fairness[-1]) for s in SEEDS]
        out[f"overshoot.{how}"] = single("Overshoot", f"map, {how}", past)
        out[f"overshoot.{how}.largest"] = single("Overshoot", f"map, {how}", [max(past)])
        out[f"fair.{how}.later"] = single(
            "Lesser over greater rate, step 8000", f"map, {how}", later
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


def draw(runs: Runs, _: Quantities, choice: Choice) -> Sequence[PaperFigure]:
    """Maps in two panels, packet simulation in two."""
    panels = {}
    titles = {"equal": "D = 20", "random": "D of 1 to 100, at random"}
    for name, every in maps(choice).items():
        done = every[0]
        title = titles[name]
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
        "Maps: alpha = 200 Mbit/s, beta = 0.5, C = 10 Gbit/s, from 1 and 5 Gbit/s; the paper does "
        "not give the start. Random delays are drawn with twelve seeds; the reference rate is the "
        "one that the feedback answers.",
        "Packets, which are not in the paper: a thousandth of all rates, Delta = 50 ms, "
        "round-trip times of 100 ms, or of 20 and 400 ms.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
