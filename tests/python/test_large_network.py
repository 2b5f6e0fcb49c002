"""A network of four thousand links, from files to the result."""

import random

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from scipy.sparse.csgraph import dijkstra

from marqueue import load, run
from marqueue.results import Result
from marqueue.results.congested_links import busiest_link, congested_links
from marqueue.scenario import Graph, Scenario, compile, with_overrides

SIDE = 32
"""Nodes stand on a torus of so many rows and columns."""
PAIRS = 4000
FLOWS = 200_000
"""So many that the engine prefetches what the next events need, as for larger networks."""

SCENARIO = f"""
name = "torus"
duration = "80 ms"
warmup = "40 ms"
sample = "0 s"
replications = 1

[topology]
kind = "graph"
file = "torus.txt"
matrix = "matrix.csv"
rate = "1 Gbit/s"
buffer = "200 packets"
aqm = "codel"

[[traffic]]
kind = "tcp"
count = {FLOWS}
jitter = "40 ms"
"""


def edges() -> list[tuple[int, int, int]]:
    """The ends of each edge, and its delay in microseconds: no two ways are equally long."""
    draw = random.Random(1)
    return [
        (SIDE * row + column, SIDE * (down % SIDE) + right % SIDE, draw.randrange(100, 2_000_000))
        for row in range(SIDE)
        for column in range(SIDE)
        for down, right in ((row, column + 1), (row + 1, column))
    ]


@pytest.fixture(scope="module")
def torus(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    folder = tmp_path_factory.mktemp("torus")
    lines = [f"n{a} n{b} {delay / 1e6:.6f}\n" for a, b, delay in edges()]
    (folder / "torus.txt").write_text("".join(lines), encoding="utf-8")
    draw = random.Random(2)
    pairs = {tuple(draw.sample(range(SIDE**2), 2)): draw.randrange(1, 100) for _ in range(PAIRS)}
    cells = [f"n{a},n{b},{flows}\n" for (a, b), flows in pairs.items()]
    matrix = "source,destination,flows\n" + "".join(cells)
    (folder / "matrix.csv").write_text(matrix, encoding="utf-8")
    (folder / "torus.toml").write_text(SCENARIO, encoding="utf-8")
    return load(folder / "torus.toml")


@pytest.fixture(scope="module")
def result(torus: Scenario) -> Result:
    return run(torus, jobs=1, threads=1)


def same(a: Result, b: Result) -> bool:
    return a.tables.keys() == b.tables.keys() and all(
        table.equals(b.tables[name]) for name, table in a.tables.items()
    )


def test_each_flow_takes_the_shortest_way(torus: Scenario) -> None:
    assert isinstance(torus.topology, Graph)
    there, back, delays = (np.array(column) for column in zip(*edges(), strict=True))
    matrix = scipy.sparse.coo_matrix((delays, (there, back)), shape=(SIDE**2, SIDE**2))
    shortest = dijkstra(matrix.tocsr(), directed=False)
    plan = compile(torus)
    assert len(plan["links"]) == 4 * SIDE**2
    assert len(plan["routes"]) >= 0.99 * PAIRS
    nodes = [(int(c.from_[1:]), int(c.to[1:])) for c in torus.topology.classes]
    for route, ends in zip(plan["routes"], nodes, strict=True):
        for way in ("forward", "reverse"):
            delay = sum(plan["links"][link]["delay"] for link in route[way])
            assert delay == pytest.approx(shortest[ends], rel=1e-9)


def test_several_threads_have_the_same_result(torus: Scenario, result: Result) -> None:
    assert same(result, run(torus, jobs=1, threads=2))


def test_every_link_has_the_figures_that_it_has_alone(result: Result) -> None:
    windows = result.tables["windows"]
    assert windows.num_rows == 2 * len(result.links)
    for name in result.links[:: SIDE + 1]:
        rows = windows.filter(pa.compute.equal(windows["link"], name)).to_pylist()
        for window, row in enumerate(rows):
            figures = result.link(name).figures(window)
            assert [row[of] for of in figures] == [
                None if np.isnan(each.mean) else each.mean for each in figures.values()
            ]


def test_the_busiest_and_the_most_congested_links_are_found(result: Result) -> None:
    of = {name: result.link(name).figures() for name in result.links}
    signals = {name: f["drops"].mean + f["marks"].mean for name, f in of.items()}
    # To a thousandth; of equal ones that with the most packets dropped and marked.
    rank = {name: (round(f["utilization"].mean, 3), signals[name]) for name, f in of.items()}
    busiest = busiest_link(result)
    assert busiest is not None
    assert rank[busiest] == max(rank.values())
    assert min(signals[name] for name in congested_links(result, 9)) >= sorted(signals.values())[-9]


def test_what_arrives_leaves_waits_or_is_dropped(result: Result) -> None:
    for name in result.links:
        [windows] = result.link(name).by_replication
        arrivals = sum(w.arrivals for w in windows)
        gone = sum(w.departures + w.dropped for w in windows)
        # At most the buffer waits at the end.
        assert 0 <= arrivals - gone <= 200


def test_a_hybrid_run_carries_as_much(torus: Scenario, result: Result) -> None:
    hybrid = run(with_overrides(torus, ["topology.queues=bottlenecks"]), jobs=1, threads=1)
    assert len(hybrid.links) < 0.5 * len(result.links)
    ours, theirs = (each.traffic()["goodput"].mean for each in (hybrid, result))
    assert ours == pytest.approx(theirs, rel=0.05)
