"""Propositions 1 and 2, equations (18), (19) and the approximation (30), beyond the paper's
cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment, theory_alone
from marqueue.papers.quantity import Quantities, Quantity, Runs, computed, single
from marqueue.papers.readings import Choice
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.resources import Resource
from marqueue.theory.allocation.single_bottleneck import SingleBottleneck
from marqueue.theory.drq.fluid import Drq, Red, Reno
from marqueue.theory.drq.marking import errors
from marqueue.theory.drq.stability import stability

#: Four classes of ten flows each share a link, bit/s; packets in bits; round trip, s.
CLASSES = (1.0, 2.0, 4.0, 8.0)
LINK, PACKET, RTT, EACH = 10e6, 4000.0, 0.1, 10
#: C/B, cycles/bit, on both sides of the means 2.13 and 3.75.
RATIOS = (1.0, 2.0, 2.2, 3.0, 3.6, 3.9, 5.0)
#: Thresholds, bits, and the rate of averaging, 1/s: slopes at which the model is stable.
LOWER, UPPER, ETA = 1e6, 100e6, 10.0
#: Solved time and step, s: the slowest of these systems decays as exp(-0.15 t).
END, STEP = 90.0, 0.05
#: The paper's example of the least density: s, Hz, bits.
LOOKUP, CLOCK, LARGEST = 51e-6, 167e6, 1536 * 8
#: Densities of a flow that crosses a CPU only, cycles/bit.
DENSITIES = (0.1, 0.25, 0.5, 0.6, 0.69, 1.0, 2.0)
#: End-to-end probabilities of marks, and hops.
MARKS = (1e-4, 1e-3, 0.01, 0.05)
HOPS = (2, 5, 10)
#: Proposition 2: round trips, s, and densities of two classes.
TRIPS = (0.02, 0.1, 0.3)
PAIRS = ((0.5, 2.0), (1.0, 1.5), (1.0, 8.0))
RATIO, DENSITY, MARK, TRIP = "C/B", "w", "p", "tau"


def dumbbells(*ratios: float) -> Drq:
    """A CPU and a link that four classes of flows cross, for each of these C/B. Those of different
    C/B share nothing: side by side they are solved in the time of one."""
    red = Red(LOWER, UPPER, 1.0, ETA)
    resources, flows = [], []
    for c in ratios:
        cpu, link = f"cpu {c:g}", f"link {c:g}"
        resources += [Resource(cpu, "cpu", c * LINK), Resource(link, "link", LINK)]
        flows += [
            Reno(f"w {w:g}, {c:g}", {cpu: w, link: 1}, PACKET, RTT, EACH, per_ack=1.0)
            for w in CLASSES
        ]
    return Drq(tuple(resources), tuple(flows), (red,) * len(resources))


def settled(model: Drq) -> Floats:
    """The state of the fluid model at the end, from rates 30 % off and queues at the threshold."""
    start = model.equilibrium.copy()
    flows, resources = len(model.flows), len(model.resources)
    start[:flows] *= 0.7
    start[flows : flows + resources] = LOWER * model.mean_density
    start[flows + resources :] = LOWER
    return np.asarray(model.run(start, END, STEP).y[-1])


def proposition_1() -> dict[str, Quantity]:
    """Solves (7) to (15) on both sides of the borders of the regions: rates at the end over the
    optimum of problem P, and queues over the lower threshold where prices are above 0 and where
    they are not."""
    model = dumbbells(*RATIOS)
    y = settled(model)
    flows, resources = len(model.flows), len(model.resources)
    rates, average = y[:flows], y[flows + resources :] / LOWER
    paid = np.isin([r.name for r in model.resources], model.optimum.congested)
    busy = np.where(paid, average, np.inf)
    idle = np.where(paid, 0.0, average)
    # (18), (19) at the optimum of problem P.
    windows = model.optimum.rates * RTT / PACKET
    sums = model.density.T @ model.optimum.prices
    bounds = math.sqrt(1.5) / model.density.sum(axis=0)

    def each(values: Floats) -> Floats:
        """A row for each C/B."""
        return values.reshape(len(RATIOS), -1)

    off = each(np.abs(rates / model.optimum.rates - 1)).max(axis=1)
    products = each(np.abs(windows * sums / math.sqrt(1.5) - 1)).max(axis=1)
    least = each(windows / bounds).min(axis=1)
    return {
        "proposition-1.rates": over_ratios("Distance from the optimum, relative", off),
        "proposition-1.busy": over_ratios(
            "Least queue with a price, over b", each(busy).min(axis=1)
        ),
        "proposition-1.idle": over_ratios(
            "Largest queue without a price, over b", each(idle).max(axis=1)
        ),
        "eq-18": over_ratios("Window by (18), relative error", products),
        "eq-19": over_ratios("Window over its bound (19), least", least),
    }


def over_ratios(label: str, values: Floats) -> Quantity:
    """A quantity at each ratio of capacities."""
    return computed(label, "four classes", values, RATIO, RATIOS)


def uniqueness() -> dict[str, Quantity]:
    """Two links of one capacity in series: how far from rest the model is when the price of one of
    them is paid to the first, to the second, and half each; and at the border of two regions with
    the unpaid CPU's queue empty and at the threshold. Relative derivatives."""
    red = Red(LOWER, UPPER, 1.0, ETA)
    flow = Reno("one", {"a": 1, "b": 1}, PACKET, RTT, EACH, per_ack=1.0)
    links = tuple(Resource(name, "link", LINK) for name in ("a", "b"))
    series = Drq(links, (flow,), (red, red))
    rate = LINK / EACH
    price = flow.weight / rate
    splits = [
        np.array([rate, *queues, *queues])
        for share in (0.1, 0.5, 0.9)
        for queues in [[red.average(share * price), red.average((1 - share) * price)]]
    ]
    border = dumbbells(SingleBottleneck.of(CLASSES).arithmetic)
    at = border.equilibrium.copy()
    # The border itself has the CPU full without a price.
    flows = len(CLASSES)
    at[:flows] = LINK / (EACH * flows)
    link = red.average(border.flows[0].weight / at[0])
    rests = [
        np.concatenate(
            [at[:flows], [cpu * border.mean_density[0], link * border.mean_density[1]], [cpu, link]]
        )
        for cpu in (0.0, 0.5 * LOWER, LOWER)
    ]
    return {
        "rest.series": single("Largest derivative of three states", "two links in series",
                              [max(derivative(series, y) for y in splits)]),
        "rest.border": single("Largest derivative of three states", "C/B = 3.75",
                              [max(derivative(border, y) for y in rests)]),
        "states.series": single("States at rest", "two links in series",
                                [at_rest(series, splits)]),
        "states.border": single("States at rest", "C/B = 3.75", [at_rest(border, rests)]),
    }  # fmt: skip


def at_rest(model: Drq, states: Sequence[Floats]) -> float:
    """The number of states that are at rest."""
    return float(sum(derivative(model, y) < 1e-9 for y in states))


def derivative(model: Drq, y: Floats) -> float:
    """The largest derivative (7) to (15) of a state that has been constant, relative to capacities
    a second, rates a second and thresholds a second."""
    flows, resources = len(model.flows), len(model.resources)
    change = model.field(0.0, y, np.tile(y, (len(model.delays), 1)))
    scale = np.concatenate([y[:flows], model.sharing.capacity, np.full(resources, LOWER)])
    return float(np.abs(change / scale).max())


def least_window() -> dict[str, Quantity]:
    """(19) for a flow that crosses a CPU only: the window at which its price is 1."""
    density = LOOKUP * CLOCK / LARGEST
    return {
        "density": single("Density", "table lookup", [density], "cycles/bit"),
        "window": single("Least window by (19)", "table lookup", [math.sqrt(1.5) / density]),
        "least-window": computed(
            "Window at which the price is 1", "a CPU only",
            [boundary_window(w) for w in DENSITIES], DENSITY, DENSITIES, "packets",
        ),
    }  # fmt: skip


def boundary_window(w: float) -> float:
    """The window at which the CPU's price reaches 1, over its capacity, with the solver of problem
    P."""
    red = Red(LOWER, UPPER, 1.0, ETA)

    def log_price(log_window: float) -> float:
        capacity = w * EACH * math.exp(log_window) * PACKET / RTT
        flow = Reno("one", {"cpu": w}, PACKET, RTT, EACH)
        model = Drq((Resource("cpu", "cpu", capacity),), (flow,), (red,))
        return math.log(model.optimum.prices[0])

    return math.exp(brentq(log_price, math.log(1e-3), math.log(1e3), xtol=1e-9))


def marks() -> dict[str, Quantity]:
    """The exact probability (24) to (27) relative to the objective (15), by its size."""
    out = {}
    for hops in HOPS:
        # p = S^2 / (1 + S^2).
        sums = np.array([math.sqrt(p / (1 - p)) for p in MARKS])
        out[f"marks.{hops}"] = computed(
            "Excess of marks over (15), relative", f"{hops} resources",
            list(np.abs(errors(sums, hops))), MARK, MARKS,
        )  # fmt: skip
        order = np.abs(errors(sums, hops)) / sums
        out[f"order.{hops}"] = single(
            "Error over S, largest over least", f"{hops} resources", [order.max() / order.min()]
        )
    return out


def proposition_2() -> dict[str, Quantity]:
    """The exact boundary over the bound (32), the least over pairs of classes, with a link, a CPU,
    and both."""
    out = {}
    for name, ratio in (("link", 10.0), ("cpu", 0.3), ("both", None)):
        printed, queueing = [], []
        for tau in TRIPS:
            found = [stability(pair(w, tau, ratio)) for w in PAIRS]
            printed.append(min(s.boundary / s.bound for s in found))
            queueing.append(min(s.boundary_with_queueing / s.bound for s in found))
        for kind, values in (("printed", printed), ("queueing", queueing)):
            out[f"proposition-2.{name}.{kind}"] = computed(
                "Exact boundary over (32), least", f"{name}, {kind}", values, TRIP, TRIPS, ""
            )
    return out


def pair(densities: tuple[float, float], tau: float, ratio: float | None) -> Drq:
    """Two classes over a CPU and a link; without a ratio both are full."""
    rates = SingleBottleneck.of(densities)
    c = math.sqrt(rates.harmonic * rates.arithmetic) if ratio is None else ratio
    red = Red(LOWER, UPPER, 1.0, ETA)
    # Windows of about ten packets at every round trip.
    link = 10 * 2 * EACH * PACKET / tau / min(1.0, c / rates.arithmetic)
    flows = tuple(Reno(f"w {w:g}", {"cpu": w, "link": 1}, PACKET, tau, EACH) for w in densities)
    resources = (Resource("cpu", "cpu", c * link), Resource("link", "link", link))
    return Drq(resources, flows, (red, red))


def measure(_runs: Runs, _choice: Choice) -> Quantities:
    """All of them."""
    parts = (proposition_1(), uniqueness(), least_window(), marks(), proposition_2())
    return dict(itertools.chain.from_iterable(part.items() for part in parts))


def draw(_runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The queues of Proposition 1."""
    curves = [quantities["proposition-1.busy"], quantities["proposition-1.idle"]]
    named = [
        computed("Queue over the lower threshold", of, q.values[0], RATIO, RATIOS)
        for of, q in zip(("with a price, least", "without a price, largest"), curves, strict=True)
    ]
    caption = "Average queues of the fluid model at the end; 0 where no resource is of this kind."
    return [sweep_figure("Theory 1", caption, named, RATIO)]


EXPERIMENT = Experiment(
    readings=(
        "The average network is (7) to (15) with constant round trips; four classes of ten flows, "
        "10 Mbit/s, 100 ms, a RED of small slope. It is solved from rates 30 % below the optimum.",
        "Proposition 2 is checked for the linear model as printed, and for one whose round trips "
        "grow with queues, as in its proof.",
    ),
    setups=theory_alone,
    measure=measure,
    draw=draw,
)
