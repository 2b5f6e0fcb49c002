"""The model of section 3 beside simulation: shares against weight and rate, and p0."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.chokew.measures import mean_of, of_flows, swept
from marqueue.papers.chokew.setups import BESIDE_UDP, level, udp, under
from marqueue.papers.drawn import Drawn, against
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.result import Result
from marqueue.scenario import Scenario
from marqueue.theory.chokew import Equilibrium
from marqueue.theory.chokew_scenario import Law, of_scenario

#: The model's queue, packets: half-way between L- and L+.
QUEUE = 150.0
#: Weights of the higher level.
WEIGHTS = (1.25, 1.5, 2.0, 3.0, 4.0)
#: Of one constant-rate flow, Mbit/s.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0)
#: Numbers of constant-rate flows of the paper's rate.
UDP = (1, 4, 10)

WEIGHT = {weight: f"weight-{weight:g}" for weight in WEIGHTS}
RATE = {rate: f"rate-{rate:g}" for rate in RATES}
FLOWS = {float(flows): f"udp-{flows}" for flows in UDP}


LAWS: tuple[Law, ...] = ("pairs", "pftk", "sqrt")

Simulated = Callable[[Result], Quantity]
Modelled = Callable[[Equilibrium], float]


def part(of: str, group: str) -> Simulated:
    """The share of the flows of a group in all goodput, in simulation."""

    def measured(run: Result) -> Quantity:
        alone, every = of_flows(run, of, "goodput", group), of_flows(run, of, "goodput")
        values = alone.values / every.values
        return replace(alone, label="Share of goodput", values=values, unit="")

    return measured


def drawing_factor(run: Result) -> Quantity:
    """p0 in simulation."""
    return mean_of(run, "CHOKeW", "p0", "p0")


def delivered(group: str) -> Modelled:
    """The share of the flows of a group in all that the link delivers, in the model."""

    def of(found: Equilibrium) -> float:
        each = {s.flows.name: s.flows.count * s.delivered for s in found.shares}
        return each[f"{group}/6 ms"] / sum(each.values())

    return of


def basic(found: Equilibrium) -> float:
    """p0 in the model."""
    return found.p0


def setups() -> Mapping[str, Scenario]:
    """Two levels; one constant-rate flow beside 50 TCP flows; several beside 100."""
    weights = {name: under("chokew", {1.0: 50, w: 50}) for w, name in WEIGHT.items()}
    rates = {
        name: under("chokew", {1.0: 50}, udp(1, f"{rate} Mbit/s", dscp="DF"), overrides=BESIDE_UDP)
        for rate, name in RATE.items()
    }
    flows = {
        name: under("chokew", {1.0: 50, 2.0: 50}, udp(int(n)), overrides=BESIDE_UDP)
        for n, name in FLOWS.items()
    }
    return weights | rates | flows


#: By name: the set-ups, their variable, what is simulated, and what the model says of it.
COMPARED: Mapping[str, tuple[Mapping[float, str], str, Simulated, Modelled]] = {
    "share.low": (WEIGHT, "w(2)", part("w = 1", level(1)), delivered(level(1))),
    "share.high": (WEIGHT, "w(2)", part("w = w(2)", level(2)), delivered(level(2))),
    "udp": (RATE, "Mbit/s", part("UDP", "udp"), delivered("udp")),
    "p0.weights": (WEIGHT, "w(2)", drawing_factor, basic),
    "p0.flows": (FLOWS, "UDP flows", drawing_factor, basic),
}


def measure(runs: Runs) -> Quantities:
    """What simulation and model say, and how many times the model simulation is."""
    out = {}
    scenarios = setups()
    for key, (names, variable, simulated, modelled) in COMPARED.items():
        found = swept(runs, names, variable, simulated)
        out[key] = found
        for law in LAWS:
            says = [modelled(of_scenario(scenarios[name], law, QUEUE)) for name in names.values()]
            out[f"{law}.{key}"] = replace(found, values=np.array([says]))
            if key != "udp":
                times = found.values / out[f"{law}.{key}"].values
                ratio = replace(found, label="Simulation over model", values=times)
                out[f"ratio.{law}.{key}"] = ratio
    return out


def draw(_: Runs, quantities: Quantities) -> Sequence[Drawn]:
    """Marks are simulation, lines the model."""

    def drawn(name: str, caption: str, variable: str, *keys: str) -> Drawn:
        simulated = [quantities[key] for key in keys]
        model = [quantities[f"pairs.{key}"] for key in keys]
        caption = f"{caption} Marks: simulation; lines: the model."
        return against(name, caption, simulated, variable, model)

    weights = "Weight of the higher level"
    return [
        drawn(
            "Model 1",
            "Shares of goodput of 50 flows of each level.",
            weights,
            "share.low",
            "share.high",
        ),
        drawn(
            "Model 2", "Share of goodput of a UDP flow beside 50 TCP flows.", "Rate, Mbit/s", "udp"
        ),
        drawn("Model 3", "p0 with 50 TCP flows of each level.", weights, "p0.weights"),
        drawn("Model 4", "p0 with UDP flows beside 100 of TCP.", "UDP flows", "p0.flows"),
    ]


EXPERIMENT = Experiment(
    readings=(
        "The fixed point of (16a) to (16d) at which the link is full: `marqueue theory chokew`. "
        "The model's queue is 150 packets, half-way between L- and L+; TCP's law is that with "
        "timeouts (Padhye et al. 2000) instead of the square root of footnote 8, and the two "
        "packets of a matched drop are one loss to it. Other laws are in the ledger.",
        "Claims here are ours: the paper has no figure of model and simulation together.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
