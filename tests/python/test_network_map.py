"""The map of a network: where its nodes are, and the colours of its links."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue import Result, load, run
from marqueue.cli import app
from marqueue.errors import MarqueueError, ScenarioError
from marqueue.reports.network_picture import MOST_APART, MOST_TOLD, network_picture
from marqueue.reports.run_charts import run_charts
from marqueue.reports.run_report import save_with_report, write_report
from marqueue.results.graph_layout import MOST_PAIRS, by_hops, on_a_map
from marqueue.results.network_map import NetworkMap, network_map
from marqueue.scenario import from_dict
from marqueue.simulation.limits import Limits

SCENARIOS = Path(__file__).parents[2] / "scenarios"
BACKBONE = SCENARIOS / "backbone" / "backbone.toml"
SHORT = ["duration=2 s", "warmup=1 s", "replications=2"]


@pytest.fixture(scope="module")
def backbone() -> Result:
    return run(load(BACKBONE, SHORT))


def the_map(result: Result) -> NetworkMap:
    found = network_map(result)
    assert found is not None
    return found


def test_places_are_those_of_the_file(backbone: Result) -> None:
    found = the_map(backbone)
    assert found.geographic
    x, y = found.places.T
    of = {name: (x[i], y[i]) for i, name in enumerate(found.nodes)}
    assert of["London"][0] < of["Paris"][0] < of["Berlin"][0] < of["Warsaw"][0]
    assert of["Oslo"][1] < of["Hamburg"][1] < of["Munich"][1] < of["Milan"][1]


def test_links_have_the_figures_of_the_result(backbone: Result) -> None:
    found = the_map(backbone)
    assert len(found.links) == 48
    for i in (0, 17, 47):
        start, end = (found.nodes[k] for k in found.ends[i])
        assert found.links[i] == f"{start} to {end}"
        figures = backbone.link(found.links[i]).figures()
        assert found.utilization[i] == pytest.approx(figures["utilization"].mean)
        if figures["delay_mean"].n:
            assert found.delay[i] == pytest.approx(figures["delay_mean"].mean, rel=0.5)
        windows = backbone.link(found.links[i]).windows()
        lost = sum(each.dropped + each.marked for each in windows)
        arrived = sum(each.arrivals for each in windows)
        ratio = lost / arrived if arrived else np.nan
        assert found.signal_ratio[i] == pytest.approx(ratio, nan_ok=True)


def test_only_graphs_have_a_map() -> None:
    assert network_map(run(load(SCENARIOS / "first.toml", ["duration=11 s"]))) is None


def test_wires_have_no_figures_and_models_their_load() -> None:
    found = the_map(run(load(SCENARIOS / "graph.toml", ["duration=21 s", "replications=1"])))
    assert not found.geographic
    measured = np.isfinite(found.utilization).tolist()
    assert dict(zip(found.links, measured, strict=True)) == {
        "ab": True, "bd": False, "ac": True, "cd": False,
    }  # fmt: skip
    more = ["topology.queues=bottlenecks", "topology.rate=100 Mbit/s"]
    hybrid = run(load(BACKBONE, [*SHORT, *more]))
    found = the_map(hybrid)
    rows = hybrid.to_arrow("modelled").to_pylist()
    i = found.links.index(max(rows, key=lambda row: row["load"])["link"])
    assert 0.1 < found.utilization[i] < 0.8
    assert np.isnan(found.delay[i])


def test_nothing_is_known_of_a_run_that_ended_in_its_warm_up() -> None:
    partial = run(load(BACKBONE, SHORT), limits=Limits(max_events=1000))
    assert np.isnan(the_map(partial).utilization).all()


def test_a_map_begins_at_the_widest_gap_of_longitudes() -> None:
    """Fiji is west of Samoa, on the other side of 180 degrees."""
    x, y = on_a_map({0: (-18.1, 178.4), 1: (-13.8, -171.8), 2: (-36.8, 174.8)}, [(0, 1), (0, 2)]).T
    assert x[2] < x[0] < x[1] < x[2] + 14.0
    assert y[1] < y[0] < y[2]


def test_a_node_without_coordinates_is_between_its_neighbours() -> None:
    places = on_a_map({0: (0.0, 0.0), 1: (0.0, 10.0), 2: (6.0, 5.0)}, [(0, 3), (1, 3), (3, 2)])
    assert places[3] == pytest.approx(places[:3].mean(axis=0))
    chain = on_a_map({0: (0.0, 0.0), 1: (0.0, 9.0)}, [(0, 2), (2, 3), (3, 1)])
    assert chain[2:, 0] == pytest.approx([3.0, 6.0])


def test_nodes_are_apart_by_their_hops() -> None:
    """So where it is possible, on a line and in a triangle, to what an eye sees: it is found in
    steps."""
    line = by_hops([(0, 1), (2, 1), (2, 3), (3, 4)])
    apart = np.linalg.norm(line[:, None] - line[None], axis=2)
    assert apart == pytest.approx(np.abs(np.subtract.outer(range(5), range(5))), abs=0.1)
    # The longer direction is from left to right.
    assert np.ptp(line[:, 1]) < 0.3
    triangle = by_hops([(0, 1), (1, 2), (2, 0)])
    sides = np.linalg.norm(triangle - np.roll(triangle, 1, axis=0), axis=1)
    assert sides == pytest.approx(1.0, abs=1e-3)


def test_nodes_that_are_not_connected_are_placed_too() -> None:
    places = by_hops([(0, 1), (2, 3)])
    assert np.linalg.norm(places[0] - places[1]) < np.linalg.norm(places[0] - places[2])


def test_a_large_grid_looks_like_one() -> None:
    """Distances on the picture are like those in the grid."""
    side = 20
    assert side**2 > MOST_PAIRS
    number = np.arange(side**2).reshape(side, side)
    edges = [
        *zip(number[:, :-1].flat, number[:, 1:].flat, strict=True),
        *zip(number[:-1].flat, number[1:].flat, strict=True),
    ]
    places = by_hops([(int(a), int(b)) for a, b in edges])
    row, column = np.divmod(np.arange(side**2), side)
    some = np.random.default_rng(1).integers(side**2, size=(2, 500))
    true = np.hypot(*(np.diff(each[some], axis=0)[0] for each in (row, column)))
    drawn = np.linalg.norm(places[some[0]] - places[some[1]], axis=1)
    assert np.corrcoef(true, drawn)[0, 1] > 0.95


def lines(svg: str, kind: str) -> list[list[float]]:
    """The ends of the lines of all paths of a class."""
    paths = re.findall(rf'<path class="{kind}" d="([^"]*)"', svg)
    ends = re.findall(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", "".join(paths))
    return [[float(x) for x in each] for each in ends]


def pair(utilization: tuple[float, float], name: str = "a & b") -> NetworkMap:
    """Two nodes, the first to the left, with a link in each direction."""
    return NetworkMap(
        nodes=["a", "b"],
        places=np.array([[0.0, 0.0], [1.0, 0.0]]),
        geographic=True,
        links=[name, "b a"],
        ends=np.array([[0, 1], [1, 0]]),
        utilization=np.array(utilization),
        signal_ratio=np.array([0.0, 0.02]),
        delay=np.array([2e-3, np.nan]),
    )


def test_each_direction_is_on_its_right() -> None:
    """From left to right, the right side is below."""
    svg = network_picture(pair((0.1, 0.97)))
    [there] = lines(svg[: svg.index("q1")], "r0")
    [back] = lines(svg[: svg.index("q1")], "r4")
    assert there[0] < there[2]
    assert back[0] > back[2]
    assert there[1] > back[1]


def test_links_tell_what_they_did() -> None:
    svg = network_picture(pair((0.1, 0.97)))
    assert (
        "<title>a &amp; b: utilization 0.1000, dropped or marked 0%, mean queueing delay 2 ms"
        "</title>" in svg
    )
    assert "<title>b a: utilization 0.9700, dropped or marked 2%</title>" in svg


def test_what_was_not_measured_is_grey() -> None:
    _, *layers = network_picture(pair((0.5, np.nan))).split('<g class="layer')
    assert [len(lines(layer, "wires")) for layer in layers] == [1, 0, 1]
    assert [len(lines(layer, "r2")) for layer in layers] == [1, 0, 0]


def test_a_crowded_map_has_both_directions_as_one_line() -> None:
    nodes = MOST_APART // 2 + 2
    angle = 2 * np.pi * np.arange(nodes) / nodes
    ring = np.column_stack([np.arange(nodes), np.roll(np.arange(nodes), -1)])
    ends = np.concatenate([ring, ring[:, ::-1]])
    n = len(ends)
    svg = network_picture(
        NetworkMap(
            nodes=[f"n{i}" for i in range(nodes)],
            places=np.column_stack([np.cos(angle), np.sin(angle)]),
            geographic=False,
            links=[f"link {i}" for i in range(n)],
            ends=ends,
            utilization=np.linspace(0.0, 1.0, n),
            signal_ratio=np.zeros(n),
            delay=np.zeros(n),
        )
    )
    assert 'class="map crowded"' in svg
    assert len(lines(svg, "wires")) == nodes
    assert not lines(svg, "r0")
    assert svg.count("<title>") == MOST_TOLD


def test_the_report_has_it(backbone: Result, tmp_path: Path) -> None:
    page = write_report(backbone, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('class="map"') == 1
    assert "Nodes are at their coordinates." in page
    assert "London to Amsterdam: utilization" in page


def test_charts_of_all_links(backbone: Result) -> None:
    charts = {chart.name: chart for chart in run_charts(backbone)}
    [curve] = charts["links-utilization"].curves
    assert np.diff(curve.x).min() >= 0.0
    assert curve.y[-1] == 1.0
    idle = np.mean(the_map(backbone).utilization <= 0.5)
    assert np.interp(0.5, curve.x, curve.y) == pytest.approx(idle, abs=1 / 48)
    few = run(load(SCENARIOS / "graph.toml", ["duration=21 s", "replications=1"]))
    assert "links-utilization" not in {chart.name for chart in run_charts(few)}


def test_the_command_draws_it(backbone: Result, tmp_path: Path) -> None:
    directory = save_with_report(backbone, tmp_path / "result")

    def plot(figure: str, *more: str) -> str:
        out = str(tmp_path / f"{figure}.svg")
        done = CliRunner().invoke(
            app, ["plot", str(directory), "--figure", figure, "-o", out, *more]
        )
        assert bool(more) == isinstance(done.exception, MarqueueError), done.output
        return str(done.exception)

    for figure in ("map-utilization", "map-signals", "map-delay"):
        plot(figure)
        assert (tmp_path / f"{figure}.svg").stat().st_size > 10_000
    with (tmp_path / "map-delay.csv").open(encoding="utf-8") as file:
        rows = {row["link"]: row for row in csv.DictReader(file)}
    found = the_map(backbone)
    for i, name in enumerate(found.links):
        assert float(rows[name]["utilization"]) == pytest.approx(found.utilization[i])
        assert f"{rows[name]['from']} to {rows[name]['to']}" == name
    said = plot("map-delays", "--force")
    assert "map-utilization, map-signals, map-delay" in said
    said = plot("map-delay", "--force", "--link", "London to Paris")
    assert "--link: nothing in the figure is of a link" in said


GRAPH = {
    "name": "places",
    "duration": "1 s",
    "topology": {
        "kind": "graph",
        "links": [{"name": "ab", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}],
        "classes": [{"name": "ab", "from": "a", "to": "b"}],
    },
    "traffic": [{"kind": "tcp"}],
}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([("c", 0, 0)], 'topology.nodes.c.name: got "c", expected one of a, b'),
        ([("a", 0, 0), ("a", 1, 1)], 'topology.nodes.0.name: got "a" 2 times, expected one place'),
        ([("a", 91, 0)], "topology.nodes.a.latitude: got 91, expected at most 90"),
        ([("a", 0, -181)], "topology.nodes.a.longitude: got -181, expected at least -180"),
        ([("a", "north", 0)], 'topology.nodes.a.latitude: got "north", expected a number'),
    ],
)
def test_wrong_places_are_refused(nodes: list[tuple[str, object, object]], message: str) -> None:
    tables = [dict(zip(("name", "latitude", "longitude"), each, strict=True)) for each in nodes]
    data = GRAPH | {"topology": {**GRAPH["topology"], "nodes": tables}}  # type: ignore[dict-item]
    with pytest.raises(ScenarioError, match=re.escape(message)):
        from_dict(data)
