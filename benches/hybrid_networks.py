"""Networks for benches/hybrid: the backbone of the examples, and random ones."""

import math
import random
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from marqueue.scenario import Scenario, from_dict, load
from marqueue.statistics.estimates import Floats

BACKBONE = (
    Path(__file__).parents[1] / "python" / "marqueue" / "examples" / "backbone" / "backbone.toml"
)
PLANE = 3000.0
"""Side of the square in which the nodes are, km."""
PER_KM = 5e-6
"""Delay of fibre, s/km (ITU-T G.114)."""
SHORT = "20 packets"
"""Mean size of short flows."""


def backbone(traffic: list[dict[str, Any]], *overrides: str) -> Scenario:
    """The example with other traffic and other values, without time series."""
    example = load(BACKBONE, ["sample=0 s", *overrides])
    return from_dict({**example.to_dict(), "traffic": traffic})


def _edges(places: list[tuple[float, float]], number: int) -> list[tuple[int, int, float]]:
    """Edges between near nodes, with their lengths in km: each node and the nearest one before it,
    then the shortest of the others."""

    def apart(a: int, b: int) -> float:
        return math.dist(places[a], places[b])

    points = np.array(places)
    all_places = KDTree(points)

    def nearest(of: Floats, number: int) -> list[Any]:
        found: list[Any] = np.asarray(all_places.query(of, k=range(1, number + 1))[1]).tolist()
        return found

    near = {(min(a, b), max(a, b)) for a, *others in nearest(points, 6) for b in others}

    def nearest_before(a: int) -> int:
        asked = 8
        while True:
            found = nearest(points[a], min(asked, len(places)))
            if before := [b for b in found if b < a]:
                return int(before[0])
            asked *= 4

    tree = {(nearest_before(a), a) for a in range(1, len(places))}
    others = sorted(near - tree, key=lambda edge: (apart(*edge), edge))
    chosen = sorted(tree) + others[: number - len(tree)]
    return [(a, b, apart(a, b)) for a, b in chosen]


def random_network(
    nodes: int, edges: int, traffic: list[dict[str, Any]], **others: Any
) -> Scenario:
    """The network of :func:`random_values` with the same arguments."""
    return from_dict(random_values(nodes, edges, traffic, **others))


def random_values(
    nodes: int,
    edges: int,
    traffic: list[dict[str, Any]],
    *,
    pairs: int,
    seconds: float,
    warmup: float,
    rates: tuple[int, ...] = (10, 20, 40),
    homes: int | None = None,
    tail: float = 2.0,
    ecn: bool = False,
) -> dict[str, Any]:
    """Nodes at random places, edges between near ones with rates drawn from ``rates`` (Mbit/s), and
    random pairs of nodes with weights of their masses, which are Pareto with the shape ``tail``.

    With ``homes`` each node of the network has a host behind a link of so many Mbit/s in each
    direction, and the flows are between hosts. With ``ecn`` all connections have ECN.
    """
    draw = random.Random(f"{nodes} {edges}")
    places = [(draw.uniform(0, PLANE), draw.uniform(0, PLANE)) for _ in range(nodes)]
    masses = [draw.paretovariate(tail) for _ in range(nodes)]
    links: list[dict[str, Any]] = []

    def both(a: str, b: str, rate: float, delay: float) -> None:
        for start, end in ((a, b), (b, a)):
            links.append(
                {
                    "name": f"{start} to {end}",
                    "from": start,
                    "to": end,
                    "rate": f"{rate:g} Mbit/s",
                    "delay": f"{delay * 1e3:.4f} ms",
                    "duplex": False,
                }
            )

    for a, b, km in _edges(places, edges):
        both(f"n{a}", f"n{b}", draw.choice(rates), km * PER_KM)
    if homes is not None:
        for a in range(nodes):
            both(f"h{a}", f"n{a}", homes, 0.5e-3)
    kind = "n" if homes is None else "h"
    chosen: dict[tuple[int, int], float] = {}
    up_to = list(accumulate(masses))
    while len(chosen) < pairs:
        a, b = draw.choices(range(nodes), cum_weights=up_to, k=2)
        if a != b:
            chosen[a, b] = masses[a] * masses[b]
    classes = [
        {"name": f"{a} to {b}", "from": f"{kind}{a}", "to": f"{kind}{b}", "weight": weight}
        for (a, b), weight in chosen.items()
    ]
    return {
        "name": f"{len(links)} links",
        "duration": f"{seconds:g} s",
        "warmup": f"{warmup:g} s",
        "sample": "0 s",
        "replications": 1,
        "topology": {
            "kind": "graph",
            "links": links,
            "classes": classes,
            "buffer": "50 ms",
            "aqm": "codel",
        },
        "transport": {"default": {"preset": "rfc", "ecn": ecn}},
        "traffic": traffic,
    }


def long_flows(count: int, jitter: str = "1 s") -> list[dict[str, Any]]:
    """Long TCP flows that start within a time."""
    return [{"kind": "tcp", "count": count, "jitter": jitter}]


def short_flows(per_second: float) -> list[dict[str, Any]]:
    """TCP flows that arrive at random."""
    return [{"kind": "poisson", "rate": f"{per_second:g} Hz", "size": SHORT}]
