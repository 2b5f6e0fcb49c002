"""Max-min fairness with several bottlenecks: simulated rates compared with water-filling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.mkc.measures import rates
from marqueue.papers.mkc.random_routes import Topology, at_random, parking_lot
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.plots import line_plot, panels
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.allocation.maxmin import max_min
from marqueue.theory.mkc import Loss, Mkc, Network
from marqueue.theory.mkc.equilibrium import mkc_fixed_point

TOPOLOGIES = {"parking lot": parking_lot(), "random 1": at_random(1), "random 2": at_random(2)}
ROUTERS = {"mkc": "EMKC", "mkc_lossfree": "adaptive price"}
#: beta, and the target utilization of the adaptive price.
BETA, GAMMA = 0.5, 0.98


@dataclass(frozen=True)
class PriceGranularity:
    """Granularity of prices from packets."""

    alpha: float
    """Mbit/s."""
    packet: str
    delta: str


#: One packet per interval is twice alpha/beta, or a tenth of it.
GRAINS = {
    "coarse": PriceGranularity(0.02, "500 B", "50 ms"),
    "fine": PriceGranularity(0.08, "200 B", "100 ms"),
}
LATE = (60.0, 80.0)


def name(router: str, topology: str, grain: str) -> str:
    """Name of a set-up."""
    return f"{router}-{topology.replace(' ', '-')}-{grain}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per router, topology and granularity."""
    return {
        name(router, key, of): topology.scenario(
            f"{shown}, {key}, {of}",
            router,
            alpha=f"{grain.alpha:g} Mbit/s",
            beta=BETA,
            packet=grain.packet,
            delta=grain.delta,
        )
        for router, shown in ROUTERS.items()
        for key, topology in TOPOLOGIES.items()
        for of, grain in GRAINS.items()
    }


def expected(router: str, topology: Topology, grain: PriceGranularity) -> Floats:
    """Rates by water-filling of the total rate at which the flows of each router settle, Mbit/s."""
    network = Network.of(topology.capacity, topology.routes)
    if router == "mkc_lossfree":
        return max_min(network.usage, GAMMA * network.capacity).rates
    return mkc_fixed_point(network, Mkc(grain.alpha, BETA), Loss(network.capacity)).rates


def sent(run: Result) -> Floats:
    """The mean rate of each flow over the last 20 s, Mbit/s, ``(replications, flows)``."""
    return np.array([[each[str(i)].mean(*LATE) for i in range(len(each))] for each in rates(run)])


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """The smallest and the largest ratio of measured and expected rates."""
    out = {}
    places = tuple(float(i) for i in range(1, len(TOPOLOGIES) + 1))
    for router, shown in ROUTERS.items():
        for of, grain in GRAINS.items():
            ratios = [
                sent(runs[name(router, key, of)]) / expected(router, topology, grain)
                for key, topology in TOPOLOGIES.items()
            ]
            for which, how in (("least", np.min), ("greatest", np.max)):
                out[f"{which}.{router}.{of}"] = Quantity(
                    f"{which.capitalize()} rate over water-filling",
                    f"{shown}, {of}",
                    np.column_stack([how(each, axis=1) for each in ratios]),
                    "",
                    "topology",
                    places,
                )
    fine = GRAINS["fine"]
    left = [
        sent(runs[name("mkc", key, "fine")]) / topology.with_losses(fine.alpha, BETA)
        for key, topology in TOPOLOGIES.items()
    ]
    for which, how in (("least", np.min), ("greatest", np.max)):
        out[f"{which}.losses"] = replace(
            out[f"{which}.mkc.fine"],
            label=f"{which.capitalize()} rate over the fixed point with losses upstream",
            values=np.column_stack([how(each, axis=1) for each in left]),
        )
    return out


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Measured rates by expected rates, and the networks."""
    rows = []
    figure, panes = panels(len(GRAINS), height=2.9)
    for (of, grain), axes in zip(GRAINS.items(), panes, strict=True):
        marks = {}
        for router, shown in ROUTERS.items():
            points: list[tuple[float, float]] = []
            for key, topology in TOPOLOGIES.items():
                means = sent(runs[name(router, key, of)]).mean(axis=0)
                points += zip(expected(router, topology, grain), means, strict=True)
                rows += [
                    {"of": shown, "grain": of, "topology": key, "expected": x, "sent": y}
                    for x, y in points[-len(means) :]
                ]
            x, y = np.array(points).T
            marks[shown] = x, y
        diagonal = np.array([0.0, max(float(x.max()) for x, _ in marks.values())])
        line_plot(
            dict.fromkeys(ROUTERS.values(), (diagonal, diagonal)),
            "Rate by water-filling [Mbit/s]",
            "Rate by packets",
            "Mbit/s",
            marks=marks,
            axes=axes,
        )
        axes.set_title(f"{of}, {grain.packet} every {grain.delta}", fontsize=9, loc="right", pad=2)
        axes.label_outer()
    return [
        PaperFigure(
            "Max-min 1",
            "The mean rate of each flow in three networks (marks), and where it should be (line): "
            "water-filling of what routers have their flows settle at. Above, a packet an interval "
            "is twice alpha/beta; below, a tenth.",
            figure,
            pa.Table.from_pylist(rows),
        ),
        PaperTable(
            "Max-min 2",
            "The networks: links with their capacities, and routes over them.",
            ("Network", "Capacities, Mbit/s", "Routes"),
            [
                (
                    key,
                    ", ".join(f"{c:g}" for c in each.capacity),
                    "; ".join("-".join(map(str, route)) for route in each.routes),
                )
                for key, each in TOPOLOGIES.items()
            ],
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Claims here are ours: the paper has one bottleneck a flow. The networks are a parking "
        "lot of three links, and two random networks of six to nine links with ten random walks; "
        "one flow a route, beta = 0.5, 5 ms a link, the last 20 s of 80 s. Coarse: alpha = 20 "
        "kbit/s, packets of 500 bytes, Delta = 50 ms; fine: 80 kbit/s, 200 bytes, 100 ms. "
        "Topologies are numbered in the order of the table.",
        "EMKC sends more than capacity, by what is lost. Its rates are therefore compared with "
        "the fixed point, which is water-filling up to C + N alpha/beta of each bottleneck; those "
        "with an adaptive price are compared with water-filling of gamma C.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
