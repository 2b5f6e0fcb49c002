"""Max-min fairness with several bottlenecks: rates of packets beside water-filling."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from marqueue.papers.drawn import Drawn, Tabled
from marqueue.papers.mkc.measures import rates
from marqueue.papers.mkc.random_routes import Topology, at_random, parking_lot
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.plot import lines, panels
from marqueue.result import Result
from marqueue.scenario import Scenario
from marqueue.stats import Floats
from marqueue.theory.maxmin import max_min
from marqueue.theory.mkc import Loss, Mkc, Network
from marqueue.theory.mkc.fixed import of_mkc

TOPOLOGIES = {"parking lot": parking_lot(), "random 1": at_random(1), "random 2": at_random(2)}
ROUTERS = {"mkc": "EMKC", "mkc_lossfree": "adaptive price"}
#: Mbit/s, and what the adaptive price aims at.
ALPHA, BETA, GAMMA = 0.02, 0.5, 0.98
LATE = (60.0, 80.0)


def name(router: str, topology: str) -> str:
    """Of a set-up."""
    return f"{router}-{topology.replace(' ', '-')}"


def setups() -> Mapping[str, Scenario]:
    """One a router and topology."""
    return {
        name(router, key): topology.scenario(
            f"{shown}, {key}", router, f"{ALPHA:g} Mbit/s", BETA
        )
        for router, shown in ROUTERS.items()
        for key, topology in TOPOLOGIES.items()
    }


def expected(router: str, topology: Topology) -> Floats:
    """Rates by water-filling, Mbit/s: of what each router has its flows settle at."""
    network = Network.of(topology.capacity, topology.routes)
    if router == "mkc_lossfree":
        return max_min(network.usage, GAMMA * network.capacity).rates
    return of_mkc(network, Mkc(ALPHA, BETA), Loss(network.capacity)).rates


def sent(run: Result) -> Floats:
    """The mean rate of each flow over the last 20 s, Mbit/s, ``(replications, flows)``."""
    return np.array(
        [[each[str(i)].mean(*LATE) for i in range(len(each))] for each in rates(run)]
    )


def measure(runs: Runs) -> Quantities:
    """The least and the greatest of the ratios of measured and expected rates."""
    out = {}
    for router, shown in ROUTERS.items():
        ratios = {
            key: sent(runs[name(router, key)]) / expected(router, topology)
            for key, topology in TOPOLOGIES.items()
        }
        places = tuple(float(i) for i in range(1, len(ratios) + 1))
        for of, how in (("least", np.min), ("greatest", np.max)):
            out[f"{of}.{router}"] = Quantity(
                f"{of.capitalize()} rate over water-filling",
                shown,
                np.column_stack([how(each, axis=1) for each in ratios.values()]),
                "",
                "topology",
                places,
            )
    out["capacity"] = replace(
        out["least.mkc"],
        label="Greatest rate over water-filling of C alone",
        values=np.column_stack(
            [
                (sent(runs[name("mkc", key)]) / of_capacity(topology)).max(axis=1)
                for key, topology in TOPOLOGIES.items()
            ]
        ),
    )
    return out


def of_capacity(topology: Topology) -> Floats:
    """Max-min fair rates of the capacities as they are, Mbit/s."""
    network = Network.of(topology.capacity, topology.routes)
    return max_min(network.usage, network.capacity).rates


def draw(runs: Runs, _: Quantities) -> Sequence[Drawn | Tabled]:
    """Measured against expected rates, and the networks."""
    figure, [axes] = panels(height=3.4)
    marks, rows = {}, []
    for router, shown in ROUTERS.items():
        points = []
        for key, topology in TOPOLOGIES.items():
            means = sent(runs[name(router, key)]).mean(axis=0)
            for i, (x, y) in enumerate(zip(expected(router, topology), means, strict=True)):
                points.append((x, y))
                rows.append({"of": shown, "topology": key, "flow": i, "expected": x, "sent": y})
        marks[shown] = tuple(np.array(points).T)
    most = max(x.max() for x, _ in marks.values())
    diagonal = np.array([0.0, most])
    lines(
        {shown: (diagonal, diagonal) for shown in ROUTERS.values()},
        "Rate by water-filling [Mbit/s]",
        "Rate by packets",
        "Mbit/s",
        marks=marks,
        axes=axes,
    )
    return [
        Drawn(
            "Max-min 1",
            "The mean rate of each flow in three networks (marks), and where it should be (line): "
            "water-filling of what routers have their flows settle at.",
            figure,
            pa.Table.from_pylist(rows),
        ),
        Tabled(
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
        "Claims here are ours: the paper has one bottleneck a flow. A parking lot of three links, "
        "and two random networks of six to nine links with ten random walks; one flow a route, "
        "alpha = 20 kbit/s, beta = 0.5, packets of 500 bytes, Delta = 50 ms, 5 ms a link; the last "
        "20 s of 80 s. Topologies are numbered in the order of the table.",
        "Like is compared with like. EMKC sends more than capacity, by what is lost: its rates are "
        "compared with the fixed point, which is water-filling up to C + N alpha/beta of each "
        "bottleneck; those with an adaptive price with water-filling of gamma C.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
