"""Theorems 1 and 2, Proposition 1, Lemma 1, Assumption 2 and (27) in the paper's own chain, from
10^3 to 10^9 flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment, theory_alone
from marqueue.papers.quantity import Quantities, Quantity, Runs, computed, single
from marqueue.papers.readings import Choice
from marqueue.theory.marking_chain import Model, mean_window, simulate
from marqueue.theory.marking_chain.simulate import ChainResult, Series

FLOWS = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
"""N."""
A = 0.2
#: Length and warm-up, T, and replications, each with its own random streams: three leave
#: `eq-27-arrivals` undecided.
LENGTH, WARM_UP, REPLICATIONS = 500, 500, 6
#: Loads of a replication at which marks are averaged.
THINNED = 5
#: e of Theorem 2, as in Table I.
MARGIN = 0.1
VARIABLE = "N"


@dataclass(frozen=True)
class Case:
    """A chain at every N."""

    ct: float
    a: float = A

    @property
    def name(self) -> str:
        """``CT = 25``, with a if it is not the paper's."""
        return f"CT = {self.ct:g}" + (f", a = {self.a:g}" if self.a != A else "")

    @property
    def key(self) -> str:
        """As part of the names of quantities."""
        return f"{self.ct:g}" + (f".{self.a:g}" if self.a != A else "")

    def model(self, flows: float) -> Model:
        """The chain of N flows under RED1."""
        return Model(int(flows), self.ct, self.a)


#: The paper's pipe, 20 to 25 packets a flow, and smaller ones; and a larger a.
PAPER = Case(25.0)
CASES = (PAPER, Case(10.0), Case(5.0), Case(1.5), Case(25.0, 0.4))


def utilization(_: Model, series: Series) -> float:
    """E[min(rho, 1)]."""
    return float(np.minimum(series.loads, 1.0).mean())


def rate(model: Model, series: Series) -> float:
    """N^a |log rho(N)|, rho(N) = E[sum W] / (N CT) (13)."""
    return float(model.flows**model.a * abs(np.log(series.loads.mean())))


def overload(_: Model, series: Series) -> float:
    """P(sum W >= N CT) (21)."""
    return float((series.loads >= 1).mean())


def tail(model: Model, series: Series) -> float:
    """P(Q >= N^(a + e))."""
    at = np.array([float(model.flows) ** (model.a + MARGIN)])
    return float(model.at.tail(series.loads, at)[0])


def unmarked(model: Model, series: Series) -> float:
    """The probability that a flow has no mark in a round trip (10), over loads and windows."""
    share = series.occupancy.mean(axis=0)
    sizes = np.arange(1.0, len(share) + 1)
    marked = model.at.marking(np.ascontiguousarray(series.loads[::THINNED]), sizes)
    return float(1 - (marked @ share).mean())


def synchrony(model: Model, series: Series) -> float:
    """h(N)."""
    return ChainResult(model, (series,)).h.mean


FIGURES: dict[str, tuple[str, Callable[[Model, Series], float]]] = {
    "utilization": ("Utilization", utilization),
    "rate": ("N^a |log rho|", rate),
    "overload": ("Share of round trips with sum W >= N CT", overload),
    "tail": ("P(Q >= N^(a + 0.1))", tail),
    "unmarked": ("Probability of no mark", unmarked),
    "h": ("h", synchrony),
}


def chain(case: Case) -> dict[str, Quantity]:
    """The figures of a chain at every N, one row a replication."""
    values: dict[str, list[list[float]]] = {name: [] for name in FIGURES}
    for flows in FLOWS:
        model = case.model(flows)
        found = simulate(model, LENGTH, WARM_UP, REPLICATIONS)
        for name, (_, figure) in FIGURES.items():
            values[name].append([figure(model, series) for series in found.series])
    return {
        f"{name}.{case.key}": Quantity(
            label, case.name, np.array(values[name]).T, "", VARIABLE, FLOWS
        )
        for name, (label, _) in FIGURES.items()
    }


def fixed_point() -> dict[str, Quantity]:
    """N^a |log rho| at the fixed point of the mean window, which synchronized flows leave; and the
    gain there, which is unstable above 2."""
    at = [mean_window(PAPER.model(flows)) for flows in FLOWS]
    rates = [n**A * abs(np.log(found.load)) for n, found in zip(FLOWS, at, strict=True)]
    return {
        "fixed.rate": over_flows("N^a |log rho| at the fixed point", "CT = 25", rates),
        "fixed.gain": over_flows("Gain g at the fixed point", "CT = 25", [m.gain for m in at]),
    }


def over_flows(label: str, of: str, values: Sequence[float]) -> Quantity:
    """A quantity at each N."""
    return computed(label, of, values, VARIABLE, FLOWS)


def clt_alone() -> dict[str, Quantity]:
    """(27): the probability of a mark if sum W is normal, centred where marks are most likely, and
    packets of a round trip do not arrive at random: the mean of RED1's curve over its region. The
    standard deviation of a window is that of windows uniform from 2/3 to 4/3 of 25."""
    spread = PAPER.ct / (3 * np.sqrt(3))
    marked = [clt_marks(flows, spread) for flows in FLOWS]
    slope = np.polyfit(np.log(FLOWS), np.log(marked), 1)[0]
    return {
        "eq-27.marks": over_flows("Probability of a mark", "CLT alone", marked),
        "eq-27.slope": single("Exponent of N", "CLT alone", [float(slope)]),
    }


def clt_marks(flows: float, spread: float) -> float:
    """The mean of RED1's curve between its thresholds, 2 N^a and 10 N^a, around their centre."""
    scale = flows**A
    normal = norm(6 * scale, spread * np.sqrt(flows))

    def density(x: float) -> float:
        return float(0.2 * (x - 2 * scale) / (8 * scale) * normal.pdf(x))

    return float(quad(density, 2 * scale, 10 * scale)[0])


def per_packet(quantities: Quantities) -> Quantity:
    """The probability of a mark for a packet in the chain, from that of none in a window of CT."""
    none = quantities[f"unmarked.{PAPER.key}"]
    return replace(
        none,
        label="Probability of a mark",
        of="the chain",
        values=1 - none.values ** (1 / PAPER.ct),
    )


def measure(_runs: Runs, _choice: Choice) -> Quantities:
    """All of them."""
    found = {name: q for case in CASES for name, q in chain(case).items()}
    return {
        **found, **fixed_point(), **clt_alone(), "eq-27.chain": per_packet(found)
    }  # fmt: skip


def draw(_runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Utilization over N."""
    curves = [quantities[f"utilization.{case.key}"] for case in CASES]
    caption = "Utilization of the paper's chain under RED1."
    return [sweep_figure("Theory 1", caption, curves, VARIABLE, log_x=True)]


EXPERIMENT = Experiment(
    readings=(
        "The chain of section III with M/M/1 and RED1, all flows with one round trip T; 500 T "
        "after 500 T, six replications, whose intervals are given.",
        "Pipes of 25, 10, 5 and 1.5 packets a flow and a = 0.2, and 25 with a = 0.4: Theorem 1 is "
        "of any CT and any a below 1/2, Theorem 2 of CT above 3.",
    ),
    setups=theory_alone,
    measure=measure,
    draw=draw,
)
