"""Networks with several bottlenecks: a parking lot, and random networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marqueue.papers.mkc.setups import built, emkc
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats

#: Random networks: nodes in a row, links that skip a node, routes, and largest number of hops.
NODES, SKIPS, ROUTES, HOPS = 7, 3, 10, 4
#: Number of steps after which a map with prices of a few percent has settled.
STEPS = 3000
#: Capacities of its links, Mbit/s.
LEAST, MOST = 4.0, 12.0


@dataclass(frozen=True)
class Topology:
    """Links between numbered nodes, and routes over them with one flow each."""

    ends: Sequence[tuple[int, int]]
    """First and last node of each link."""
    capacity: Sequence[float]
    """Mbit/s."""
    routes: Sequence[Sequence[int]]
    """The links of each flow, in order."""

    def with_losses(self, alpha: float, beta: float) -> Floats:
        """The stationary rates of EMKC's map if a link sees only what earlier links have not lost,
        Mbit/s.

        Nodes are numbered downstream, so that links are ordered by their first nodes.
        """
        rates = np.full(len(self.routes), LEAST / len(self.routes))
        order = sorted(range(len(self.ends)), key=lambda j: self.ends[j])
        crosses = np.array([[j in route for route in self.routes] for j in range(len(self.ends))])
        for _ in range(STEPS):
            left, price = rates.copy(), np.full(len(rates), -np.inf)
            for j in order:
                here = crosses[j]
                load = left[here].sum()
                price[here] = np.maximum(price[here], 1 - self.capacity[j] / load)
                left[here] *= min(1.0, self.capacity[j] / load)
            rates += alpha - beta * price * rates
        return rates

    def scenario(
        self, name: str, aqm: str, *, alpha: str, beta: float, packet: str, delta: str
    ) -> Scenario:
        """One EMKC flow per route, with the same AQM and interval at all links."""
        links = [
            {
                "name": f"L{j}",
                "from": f"n{begin}",
                "to": f"n{end}",
                "rate": f"{c:g} Mbit/s",
                "delay": "5 ms",
                "buffer": "100 packets",
                "aqm": {"name": aqm, "delta": delta},
            }
            for j, ((begin, end), c) in enumerate(zip(self.ends, self.capacity, strict=True))
        ]
        classes = [
            {
                "name": str(i),
                "from": f"n{self.ends[route[0]][0]}",
                "to": f"n{self.ends[route[-1]][1]}",
                "via": [f"n{self.ends[j][1]}" for j in route[:-1]],
            }
            for i, route in enumerate(self.routes)
        ]
        traffic: list[dict[str, Any]] = [
            {
                "name": str(i),
                "kind": "paced",
                "classes": [str(i)],
                "control": emkc(alpha, beta),
                "rate": "500 kbit/s",
                "packet": packet,
                "jitter": delta,
                "trace": True,
            }
            for i in range(len(self.routes))
        ]
        topology = {"kind": "graph", "links": links, "classes": classes}
        times = {"duration": "80 s", "warmup": "60 s", "sample": "100 ms"}
        return built({"topology": topology, "traffic": traffic, **times}, name)


def parking_lot() -> Topology:
    """Three links in a row; two flows over all of them, and two over each."""
    row = [0, 1, 2]
    return Topology(
        ends=[(j, j + 1) for j in row],
        capacity=[10.0, 6.0, 8.0],
        routes=[row, row] + [[j] for j in row for _ in range(2)],
    )


def at_random(seed: int) -> Topology:
    """A row of nodes with some links that skip a node, random capacities, and random walks as
    routes; links without a route are left out."""
    rng = np.random.default_rng(seed)
    skips = rng.choice(NODES - 2, SKIPS, replace=False)
    ends = [(i, i + 1) for i in range(NODES - 1)] + [(int(i), int(i) + 2) for i in sorted(skips)]
    capacity = rng.uniform(LEAST, MOST, len(ends)).round(1)
    routes = []
    for _ in range(ROUTES):
        node = int(rng.integers(NODES - 2))
        route: list[int] = []
        for _ in range(int(rng.integers(2, HOPS + 1))):
            onward = [j for j, (begin, _) in enumerate(ends) if begin == node]
            if not onward:
                break
            route.append(int(rng.choice(onward)))
            node = ends[route[-1]][1]
        routes.append(route)
    used = sorted({j for route in routes for j in route})
    number = {j: k for k, j in enumerate(used)}
    return Topology(
        ends=[ends[j] for j in used],
        capacity=[float(capacity[j]) for j in used],
        routes=[[number[j] for j in route] for route in routes],
    )
