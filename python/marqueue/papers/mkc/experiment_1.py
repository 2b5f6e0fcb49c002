"""Figures 1 and 2: classic Kelly control of one flow, by maps at delays of 1 to 4 steps and by
packets at two round-trip times."""

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
from marqueue.papers.mkc.setups import flow, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.theory.mkc.paper_data import figure_1

DELAYS = (1, 2, 3, 4)
#: The map's stationary rate, C + omega, Mbit/s.
SETTLED = 1010.0
#: Round-trip times of the packet simulation, ms; its C and its stationary rate, Mbit/s.
RTTS = (90, 120)
C, STATIONARY = 50.0, 50.02
#: Round-trip time, ms, packet size, bytes, and interval, ms: for the claims, and others for the
#: ledger.
SETUPS = ((90, 1000, 40), (120, 1000, 40), (90, 200, 40), (90, 200, 100), (120, 200, 100))
#: The last 5 s.
LATE = (15.0, 20.0)


#: The least rate, by value of the reading ``least-rate``; by default kappa omega.
LEAST: Mapping[str, Mapping[str, str]] = {
    "kappa-omega": {},
    "1-mbit": {"min_rate": "1 Mbit/s"},
    "2-mbit": {"min_rate": "2 Mbit/s"},
    "5-mbit": {"min_rate": "5 Mbit/s"},
}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per round-trip time."""
    least = LEAST[choice["least-rate"]]
    return {name(*each): packets(*each, least) for each in SETUPS}


def name(rtt: int, size: int = 1000, delta: int = 40) -> str:
    """Name of a set-up."""
    return f"rtt-{rtt}-{size}-{delta}"


def packets(rtt: int, size: int, delta: int, least: Mapping[str, str]) -> Scenario:
    """One flow of Kelly's law on 50 Mbit/s."""
    return one_link(
        f"Kelly control, {rtt} ms, packets of {size} bytes, an interval of {delta} ms",
        flow("kelly", kappa=0.5, omega="20 kbit/s", **least),
        rates=[least.get("min_rate", "1 Mbit/s")],
        rtts=[f"{rtt} ms"],
        packet=f"{size} B",
        overrides=["duration=20 s"],
        rate=f"{C:g} Mbit/s",
        aqm={"name": "mkc", "delta": f"{delta} ms"},
    )


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Distances from the stationary rate, overshoot, and growth of oscillations."""
    maps = {d: total_rate(figure_1(d)) for d in DELAYS}
    late = {d: largest_distance(x[141:151], SETTLED) for d, x in maps.items()}
    early = {d: largest_distance(x[41:51], SETTLED) for d, x in maps.items()}
    names = {float(rtt): name(rtt) for rtt in RTTS}
    out = {
        f"largest.{rtt}.{size}.{delta}": measure_rate(
            runs[name(rtt, size, delta)],
            "Largest rate over C, last 5 s",
            f"RTT {rtt} ms, {size} bytes, {delta} ms",
            lambda x: float(x.within(*LATE).value.max()) / C,
        )
        for rtt, size, delta in SETUPS
    }
    return out | {
        "away.map": computed(
            "Distance from x*, steps 141 to 150", "map", {float(d): late[d] for d in DELAYS}, "D"
        ),
        "growth.map": computed(
            "The same over that of steps 41 to 50",
            "map",
            {float(d): late[d] / early[d] if early[d] else 0.0 for d in DELAYS},
            "D",
        ),
        "overshoot.map": computed(
            "Overshoot", "map", {d: overshoot(x, SETTLED) for d, x in maps.items()}, "D"
        ),
        "away.packets": swept(
            runs,
            names,
            "RTT",
            lambda run: measure_rate(
                run,
                "Largest distance from x*, last 5 s",
                "packets",
                lambda x: largest_distance(x.within(*LATE).value, STATIONARY),
            ),
        ),
        "peak.packets": swept(
            runs,
            names,
            "RTT",
            lambda run: measure_rate(
                run,
                "Largest rate over C, last 5 s",
                "packets",
                lambda x: float(x.within(*LATE).value.max()) / C,
            ),
        ),
    }


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Maps in four panels, packet simulation in two."""
    return [
        map_figure(
            "Figure 1",
            "One Kelly source at delays of 1 to 4 steps; it settles at 1010 Mbit/s, or never.",
            {f"D = {d}": {"": total_rate(figure_1(d))} for d in DELAYS},
        ),
        sender_figure(
            "Figure 2",
            "One Kelly flow on 50 Mbit/s.",
            {f"RTT = {rtt} ms": runs[name(rtt)] for rtt in RTTS},
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Maps: kappa = 1/2, omega = 10 Mbit/s, C = 1000 Mbit/s, 150 steps from x = omega; the "
        "paper does not give the start.",
        "Packets: kappa = 1/2, omega = 20 kbit/s, C = 50 Mbit/s, packets of 1000 bytes, from 1 "
        "Mbit/s. The paper does not give the router's interval. A rate acts on an interval that "
        "begins a round trip later, and its price is known at the end of that interval: D = 1 + "
        "RTT/Delta. Delta = 40 ms gives D = 4 at 120 ms, and 3.25 at 90 ms.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
