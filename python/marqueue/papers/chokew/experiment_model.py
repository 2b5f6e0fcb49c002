"""The model of section 3 compared with simulation: shares by weight and rate, and p0."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from marqueue.papers.chokew.measures import delay_by_littles_law, mean_of, of_flows, of_link, swept
from marqueue.papers.chokew.setups import BESIDE_UDP, level, shorter, udp, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.chokew.from_scenario import Law, solve_scenario
from marqueue.theory.chokew.model import Equilibrium

#: The model's queue, packets: half-way between L- and L+.
QUEUE = 150.0
#: Weights of the higher level.
WEIGHTS = (1.25, 1.5, 2.0, 3.0, 4.0)
#: Rates of one constant-rate flow, Mbit/s.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0)
#: Numbers of constant-rate flows at the paper's rate.
UDP = (1, 4, 10)
#: Numbers of TCP flows, half of weight 1 and half of weight 2.
COUNTS = (20, 50, 100, 200)
#: Access links of Poisson sources, which a link of 10 Mbit/s would space evenly.
FAST = 'topology.access.rate="1 Gbit/s"'

WEIGHT = {weight: f"weight-{weight:g}" for weight in WEIGHTS}
RATE = {rate: f"rate-{rate:g}" for rate in RATES}
FLOWS = {float(flows): f"udp-{flows}" for flows in UDP}
COUNT = {float(count): f"count-{count}" for count in COUNTS}
POISSON = {float(flows): f"poisson-{flows}" for flows in UDP}


LAWS: Mapping[Law, str] = {
    "pairs": "Model: timeouts, pairs",
    "pftk": "Model: timeouts",
    "sqrt": "Model: square root",
}

#: Places at which curves of the model are computed.
CURVE_WEIGHTS = tuple(np.linspace(WEIGHTS[0], WEIGHTS[-1], 9))
CURVE_RATES = tuple(np.geomspace(RATES[0], RATES[-1], 25))

Simulated = Callable[[Result], Quantity]
Modelled = Callable[[Equilibrium], float]


def part(of: str, group: str) -> Simulated:
    """The share of a group's flows in the total goodput, in simulation."""

    def measured(run: Result) -> Quantity:
        alone, every = of_flows(run, of, "goodput", group), of_flows(run, of, "goodput")
        values = alone.values / every.values
        return replace(alone, label="Share of goodput", values=values, unit="")

    return measured


def drawing_factor(run: Result) -> Quantity:
    """p0 in simulation."""
    return mean_of(run, "CHOKeW", "p0", "p0")


def delivered(group: str) -> Modelled:
    """The share of a group's flows in all delivered packets, in the model."""

    def of(found: Equilibrium) -> float:
        each = {s.flows.name: s.flows.count * s.delivered for s in found.shares}
        return each[f"{group}/6 ms"] / sum(each.values())

    return of


def basic(found: Equilibrium) -> float:
    """p0 in the model."""
    return found.p0


def at_weight(weight: float) -> Scenario:
    """Two levels of 50 flows each; the higher level has this weight."""
    return under("chokew", {1.0: 50, weight: 50})


def at_rate(rate: float) -> Scenario:
    """One constant-rate flow of this rate, Mbit/s, and 50 TCP flows."""
    of_rate = udp(1, f"{rate * 1e6:.0f} bit/s", dscp="DF")
    return under("chokew", {1.0: 50}, of_rate, overrides=BESIDE_UDP)


def beside_udp(flows: float) -> Scenario:
    """This number of constant-rate flows, and 100 TCP flows."""
    return under("chokew", {1.0: 50, 2.0: 50}, udp(int(flows)), overrides=BESIDE_UDP)


def of_count(count: float) -> Scenario:
    """Two levels of this number of flows in all."""
    return under("chokew", {1.0: int(count) // 2, 2.0: int(count) // 2})


def beside_poisson(flows: float) -> Scenario:
    """As :func:`beside_udp`; packets of each flow arrive as a Poisson process of the same rate."""
    each = {"kind": "packets", "rate": "1250 /s", "packet": "1000 B", "dscp": "AF11"}
    own = [each | {"name": f"poisson {k}"} for k in range(1, int(flows) + 1)]
    return under("chokew", {1.0: 50, 2.0: 50}, *own, overrides=[*BESIDE_UDP, FAST])


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """Two levels, by weight and by number; one unresponsive flow and 50 TCP flows; several and
    100."""
    return {
        name: at(place)
        for at, names in (
            (at_weight, WEIGHT),
            (at_rate, RATE),
            (beside_udp, FLOWS),
            (of_count, COUNT),
            (beside_poisson, POISSON),
        )
        for place, name in names.items()
    }


@cache
def solved(at: Callable[[float], Scenario], place: float, law: Law) -> Equilibrium:
    """The model's fixed point."""
    return solve_scenario(at(place), law, QUEUE)


@dataclass(frozen=True)
class Comparison:
    """One comparison of simulation and model along a sweep."""

    at: Callable[[float], Scenario]
    names: Mapping[float, str]
    """The set-ups by place."""
    variable: str
    simulated: Simulated
    modelled: Modelled
    curve: tuple[float, ...] = ()
    """Places at which a curve of the model is computed."""

    def model(self, law: Law, places: Iterable[float]) -> Floats:
        """The quantity in the model."""
        return np.array([[self.modelled(solved(self.at, place, law)) for place in places]])


LOW, HIGH = level(1), level(2)
COMPARED = {
    "share.low": Comparison(
        at_weight, WEIGHT, "w(2)", part("w = 1", LOW), delivered(LOW), CURVE_WEIGHTS
    ),
    "share.high": Comparison(
        at_weight, WEIGHT, "w(2)", part("w = w(2)", HIGH), delivered(HIGH), CURVE_WEIGHTS
    ),
    "udp": Comparison(at_rate, RATE, "Mbit/s", part("UDP", "udp"), delivered("udp"), CURVE_RATES),
    "p0.weights": Comparison(at_weight, WEIGHT, "w(2)", drawing_factor, basic),
    "p0.flows": Comparison(beside_udp, FLOWS, "UDP flows", drawing_factor, basic),
    "p0.counts": Comparison(of_count, COUNT, "N", drawing_factor, basic),
}


def theory(_choice: Choice) -> None:
    """Solves the model at all places."""
    for each in COMPARED.values():
        for law in LAWS:
            each.model(law, each.names)
        each.model("pairs", each.curve)


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """The quantities in simulation and model, and their ratios."""
    out: dict[str, Quantity] = {}
    for key, each in COMPARED.items():
        found = swept(runs, each.names, each.variable, each.simulated)
        out[key] = found
        for law, of in LAWS.items():
            says = each.model(law, each.names)
            out[f"{law}.{key}"] = replace(found, of=of, values=says)
            if key != "udp":
                out[f"ratio.{law}.{key}"] = replace(
                    found, label="Simulation over model", values=found.values / says
                )
        if each.curve:
            says = each.model("pairs", each.curve)
            out[f"curve.{key}"] = replace(found, values=says, places=each.curve)
    return out | waiting(runs)


def waiting(runs: Runs) -> dict[str, Quantity]:
    """Queueing delay: in simulation, by (15) from the rate of entering packets, and in the
    model."""
    out = {}
    for key in ("weights", "flows"):
        each = COMPARED[f"p0.{key}"]
        wait = swept(runs, each.names, each.variable, of_link, "CHOKeW", "delay_mean")
        by_15 = swept(runs, each.names, each.variable, delay_by_littles_law, "CHOKeW")
        says = [[1e3 * solved(each.at, place, "pairs").waiting_time for place in each.names]]
        out[f"wait.{key}"] = wait
        out[f"leaky.{key}"] = by_15
        out[f"pairs.wait.{key}"] = replace(wait, values=np.array(says))
        out[f"ratio.wait.{key}"] = replace(
            wait,
            label="Queueing delay over that by (15)",
            values=wait.values / by_15.values,
            unit="",
        )
    poisson = POISSON, "Poisson flows"
    wait = swept(runs, *poisson, of_link, "CHOKeW", "delay_mean")
    out["wait.poisson"] = wait
    out["leaky.poisson"] = swept(runs, *poisson, delay_by_littles_law, "CHOKeW")
    out["ratio.wait.poisson"] = replace(
        wait,
        label="Queueing delay over that by (15)",
        values=wait.values / out["leaky.poisson"].values,
        unit="",
    )
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Shares, marks for simulation and lines for the model; p0 for each law of TCP."""
    marks = "Marks: simulation; lines: the model with timeouts and pairs."
    shares = ("share.low", "share.high")

    def factor(name: str, key: str, caption: str, variable: str) -> PaperFigure:
        simulated = replace(quantities[key], of="Simulation")
        laws = [quantities[f"{law}.{key}"] for law in LAWS]
        caption = f"{caption} The model has it right within 25%, or twice too low, by TCP's law."
        return sweep_figure(name, caption, [simulated, *laws], variable, floor=0.0)

    return [
        sweep_figure(
            "Model 1",
            f"Shares of goodput of 50 flows of each level. {marks}",
            [quantities[key] for key in shares],
            "Weight of the higher level",
            [quantities[f"curve.{key}"] for key in shares],
            floor=0.0,
        ),
        sweep_figure(
            "Model 2",
            "Share of goodput of a UDP flow beside 50 TCP flows: as much as it sends at first, "
            "more "
            f"than a fair share, 0.02, then less the more it sends. {marks}",
            [quantities["udp"]],
            "Rate of the UDP flow [Mbit/s]",
            [quantities["curve.udp"]],
            log_x=True,
        ),
        factor(
            "Model 3",
            "p0.weights",
            "p0 with 50 TCP flows of each level.",
            "Weight of the higher level",
        ),
        factor("Model 4", "p0.flows", "p0 with UDP flows beside 100 of TCP.", "UDP flows"),
        PaperTable(
            "Model 5",
            "How long packets that get through wait beside 100 TCP flows, ms: in simulation; by "
            "(15), from the queue and the rate at which packets enter it there; in the model.",
            ("UDP flows", "Simulation", "By (15)", "Model"),
            [
                [shown]
                + [
                    quantities[f"{of}.{key}"].estimates[quantities[f"wait.{key}"].place(place)]
                    for of in ("wait", "leaky", "pairs.wait")
                ]
                for shown, key, place in (
                    ("none", "weights", 2.0),
                    *((f"{n}", "flows", float(n)) for n in UDP),
                )
            ],
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "50 to 200 flows are of two levels, of weight 1 and 2. Poisson flows, of 10 Mbit/s each, "
        "are for (15), which assumes them.",
        "The model is the fixed point of (16a) to (16d) at which the link is full: `marqueue "
        "theory chokew`. Its queue is 150 packets, half-way between L- and L+. Its TCP law is "
        "that with timeouts (Padhye et al. 2000) instead of the square root of footnote 8, and "
        "counts the two packets of a matched drop as one loss. The ledger compares other laws.",
        "Claims here are ours: the paper has no figure that compares model and simulation.",
    ),
    setups=setups,
    theory=theory,
    measure=measure,
    draw=draw,
    quick=shorter,
)
