"""Networks and traffic matrices in files: what a scenario gets from them, and their mistakes."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marqueue import load, run
from marqueue.errors import ScenarioError
from marqueue.reports.run_report import write_report
from marqueue.results.congested_links import congested_links
from marqueue.scenario import Graph, Scenario, compile, from_dict
from marqueue.scenario.class_parts import ClassParts
from marqueue.scenario.network_file.distance import EARTH, fibre_delay, great_circle
from marqueue.scenario.routing import Routing

SCENARIO = """
name = "file"
duration = "2 s"
warmup = "1 s"
replications = 1
[topology]
kind = "graph"
file = "FILE"
rate = "10 Mbit/s"
buffer = "20 packets"
MORE
[[traffic]]
kind = "tcp"
count = COUNT
"""

KEYS = """<key id="a" for="node" attr.name="label"/><key id="b" for="node" attr.name="Latitude"/>
<key id="c" for="node" attr.name="Longitude"/><key id="d" for="edge" attr.name="LinkSpeedRaw"/>
<key id="e" for="edge" attr.name="LinkSpeed"/><key id="f" for="edge" attr.name="LinkSpeedUnits"/>
<key id="g" for="edge" attr.name="latency"/><key id="h" for="node" attr.name="mass"/>
"""

TRIANGLE = """a b 10
b c 10   # a comment
a c 30 100Mbit/s
"""


def graphml(nodes: str, edges: str, graph: str = "") -> str:
    """A file of 3 + lines of KEYS and one line for each line given, with the namespace of
    GraphML."""
    opening = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return f"{opening}{KEYS}<graph {graph}>\n{nodes}\n{edges}\n</graph></graphml>"


def node(name: str, **data: Any) -> str:
    values = "".join(f'<data key="{key}">{value}</data>' for key, value in data.items())
    return f'<node id="{name}">{values}</node>'


def edge(start: str, end: str, **data: Any) -> str:
    values = "".join(f'<data key="{key}">{value}</data>' for key, value in data.items())
    return f'<edge source="{start}" target="{end}">{values}</edge>'


def written(
    folder: Path, network: str, more: str = "", count: str = "4", matrix: str | None = None
) -> Path:
    """A scenario file, with the files that it names beside it."""
    (folder / "net").write_text(network, encoding="utf-8")
    if matrix is not None:
        (folder / "matrix.csv").write_text(matrix, encoding="utf-8")
        more += '\nmatrix = "matrix.csv"'
    path = folder / "scenario.toml"
    text = SCENARIO.replace("FILE", "net").replace("MORE", more).replace("COUNT", count)
    path.write_text(text, encoding="utf-8")
    return path


CLASSES = 'classes = [{ name = "ac", from = "a", to = "c" }]'


def graph_of(scenario: Scenario) -> Graph:
    assert isinstance(scenario.topology, Graph)
    return scenario.topology


def refusal(path: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as error:
        load(path, overrides)
    return str(error.value)


def test_the_example_runs_and_shows_its_most_congested_links(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "scenarios" / "backbone" / "backbone.toml"
    changes = ["duration=1.5 s", "warmup=0.5 s", "replications=1", "sample=0 s"]
    result = run(load(example, changes))
    assert len(result.links) == 48
    lost = {name: result.link(name).figures()["drops"].mean for name in result.links}
    shown = congested_links(result, 5)
    assert min(lost[name] for name in shown) >= sorted(lost.values())[-5]
    table = result.table()
    assert list(table.columns) == list(shown)
    assert "43 more are in the files" in table.caption
    write_report(result, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "codel at 48 links" in page
    figures = [result.link(name).figures() for name in result.links]
    full = sum(each["utilization"].mean >= 0.95 for each in figures)
    congested = sum(each["drops"].mean + each["marks"].mean > 0 for each in figures)
    assert 0 < full < congested < 48
    said = f"{full} links were at least 95% utilized, and {congested} dropped or marked packets"
    assert said in page


def test_lines_of_latencies_become_links_in_both_directions(tmp_path: Path) -> None:
    plan = compile(load(written(tmp_path, TRIANGLE, CLASSES)))
    links = {each["name"]: each for each in plan["links"]}
    assert sorted(links) == ["a to b", "a to c", "b to a", "b to c", "c to a", "c to b"]
    assert {each["queue"]["limit"]["packets"] for each in links.values()} == {20}
    assert (links["a to c"]["rate"], links["a to b"]["rate"]) == (100_000_000, 10_000_000)
    assert links["c to a"]["delay"] == 30_000_000
    # 20 ms over two links beat 30 ms over one.
    ways = [[plan["links"][i]["name"] for i in way] for way in plan["routes"][0].values()]
    assert ways == [["a to b", "b to c"], ["c to b", "b to a"]]


def test_a_direction_with_a_line_of_its_own_has_its_own_latency(tmp_path: Path) -> None:
    plan = compile(load(written(tmp_path, "a c 10\nc a 25", CLASSES)))
    assert [each["delay"] for each in plan["links"]] == [10_000_000, 25_000_000]


def test_graphml_gives_rates_latencies_and_labels(tmp_path: Path) -> None:
    nodes = node("0", a="Kiel") + node("1", a="None") + node("2", a="Köln")
    edges = (
        edge("0", "1", e="2.5", f="G", g="3 ms")
        + edge("1", "2", d="155000000.0", g="4 ms")
        + edge("0", "1", g="5 ms")
    )
    more = 'classes = [{ name = "k", from = "Kiel", to = "Köln" }]'
    plan = compile(load(written(tmp_path, graphml(nodes, edges), more)))
    found = {each["name"]: (each["rate"], each["delay"]) for each in plan["links"]}
    assert found["Kiel to 1"] == found["1 to Kiel"] == (2_500_000_000, 3_000_000)
    assert found["1 to Köln"] == (155_000_000, 4_000_000)
    assert found["Kiel to 1 2"] == (10_000_000, 5_000_000)


def test_a_directed_edge_has_one_direction(tmp_path: Path) -> None:
    nodes = node("a") + node("c")
    edges = edge("a", "c", g="1 ms") + edge("c", "a", g="2 ms")
    text = graphml(nodes, edges, 'edgedefault="directed"')
    scenario = load(written(tmp_path, text, CLASSES))
    assert [link.name for link in graph_of(scenario).links] == ["a to c", "c to a"]


def test_coordinates_give_the_delay_of_fibre_along_the_great_circle(tmp_path: Path) -> None:
    # A quarter of the equator, at 5 us per km.
    nodes = node("a", b="0", c="0") + node("c", b="0", c="90")
    plan = compile(load(written(tmp_path, graphml(nodes, edge("a", "c")), CLASSES)))
    quarter = math.pi / 2 * EARTH
    assert plan["links"][0]["delay"] == pytest.approx(5_000 * quarter, abs=1000)


PLACES = st.tuples(st.floats(-90, 90), st.floats(-180, 180))


@given(PLACES, PLACES, PLACES)
def test_great_circles_are_a_distance(a: Any, b: Any, c: Any) -> None:
    assert great_circle(a, b) == pytest.approx(great_circle(b, a), abs=1e-6)
    assert great_circle(a, b) <= math.pi * EARTH * (1 + 1e-12)
    assert great_circle(a, c) <= great_circle(a, b) + great_circle(b, c) + 1e-3
    assert fibre_delay(a, a).base == 0


def test_a_matrix_of_flows_gives_each_pair_its_flows(tmp_path: Path) -> None:
    matrix = "source,destination,flows\na,c,5\nc,b,2\nb,a,0\n"
    scenario = load(written(tmp_path, TRIANGLE, count='"matrix"', matrix=matrix))
    counts = {g["name"]: g["kind"]["tcp"]["count"] for g in compile(scenario)["traffic"]}
    assert counts == {"tcp/a to c": 5, "tcp/c to b": 2}


def test_a_matrix_of_rates_gives_shares(tmp_path: Path) -> None:
    matrix = "destination,source,rate\nc,a,3 Mbit/s\nb,c,1000 kbit/s\n"
    path = written(tmp_path, TRIANGLE, count="8", matrix=matrix)
    counts = [g["kind"]["tcp"]["count"] for g in compile(load(path))["traffic"]]
    assert counts == [6, 2]
    assert "the matrix does not count flows" in refusal(path, 'traffic.0.count="matrix"')


def test_gravity_is_the_product_of_masses(tmp_path: Path) -> None:
    nodes = node("a", h="1") + node("b", h="2") + node("c", h="3") + node("d", h="0")
    edges = "".join(edge(x, y, g="1 ms") for x, y in ("ab", "bc", "cd"))
    path = written(tmp_path, graphml(nodes, edges), 'matrix = { gravity = "mass" }', "22")
    counts = {g["name"]: g["kind"]["tcp"]["count"] for g in compile(load(path))["traffic"]}
    each = {"a to b": 2, "a to c": 3, "b to c": 6, "b to a": 2, "c to a": 3, "c to b": 6}
    assert counts == {f"tcp/{name}": count for name, count in each.items()}
    few = graph_of(load(path, ["topology.matrix.pairs=3"])).classes
    # Of equal demands those of the heavier source come first.
    assert [each.name for each in few] == ["b to c", "c to a", "c to b"]


def test_the_mass_capacity_is_the_sum_of_the_rates_of_a_nodes_links(tmp_path: Path) -> None:
    path = written(tmp_path, TRIANGLE, 'matrix = { gravity = "capacity" }')
    # Rates: a-b and b-c 10, a-c 100 Mbit/s; so a and c have 110, b has 20.
    weights = {each.name: each.weight for each in graph_of(load(path)).classes}
    assert weights["a to c"] == 1
    assert weights["a to b"] == pytest.approx(20 / 110)


def test_poisson_flows_arrive_by_weight(tmp_path: Path) -> None:
    matrix = "source,destination,flows\na,c,3\nc,b,1\n"
    path = written(tmp_path, TRIANGLE, matrix=matrix)
    traffic = [{"kind": "poisson", "rate": "600 /s", "size": "2 packets"}]
    result = run(from_dict({**load(path).to_dict(), "traffic": traffic}))
    of = result.flows["class"].to_pylist()
    # 1200 flows; the standard deviation of the share is 0.0125.
    assert of.count("a to c") / len(of) == pytest.approx(0.75, abs=0.05)


def test_overrides_reach_the_file_its_links_and_all_links(tmp_path: Path) -> None:
    path = written(tmp_path, TRIANGLE, CLASSES)
    (tmp_path / "other").write_text("a c 7")
    assert len(graph_of(load(path, ["topology.file=other"])).links) == 2
    plan = compile(load(path, ["topology.links.a to b.rate=1 Mbit/s", "topology.aqm=pie"]))
    assert [each["rate"] for each in plan["links"]][:2] == [1_000_000, 10_000_000]
    assert {each["queue"]["policy"]["name"] for each in plan["links"]} == {"pie"}


def test_a_given_link_changes_that_of_the_file_or_is_added(tmp_path: Path) -> None:
    links = (
        '\nlinks = [{ name = "a to b", from = "a", to = "b", buffer = "7 packets" },'
        '{ name = "new", from = "a", to = "d", delay = "1 ms" }]'
    )
    plan = compile(load(written(tmp_path, TRIANGLE, CLASSES + links)))
    found = {each["name"]: each["queue"] for each in plan["links"]}
    assert found["a to b"]["limit"] == {"packets": 7}
    assert found["b to a"]["limit"] == {"packets": 20}
    assert "new" in found


def test_a_buffer_in_time_is_what_the_link_sends_in_it(tmp_path: Path) -> None:
    plan = compile(load(written(tmp_path, TRIANGLE, CLASSES), ["topology.buffer=40 ms"]))
    limits = {each["name"]: each["queue"]["limit"]["bytes"] for each in plan["links"]}
    assert (limits["a to b"], limits["a to c"]) == (50_000, 500_000)


def test_what_was_read_is_all_that_the_scenario_needs(tmp_path: Path) -> None:
    matrix = "source,destination,flows\na,c,5\nc,b,2\n"
    scenario = load(written(tmp_path, TRIANGLE, matrix=matrix))
    alone = tmp_path / "elsewhere" / "copy.toml"
    alone.parent.mkdir()
    alone.write_text(scenario.to_toml(), encoding="utf-8")
    assert compile(load(alone)) == compile(scenario)
    topology = {"topology": {"kind": "graph", "file": "x"}}
    with pytest.raises(ScenarioError, match="expected it in a scenario that is read from a file"):
        from_dict(scenario.to_dict() | topology)


BOMB = """<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>
<graphml><graph><node id="&b;"/></graph></graphml>"""
LEAK = """<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a SYSTEM "file:///etc/hostname">]>
<graphml><graph><node id="x"><data key="d">&a;</data></node></graph></graphml>"""
TWO = node("a") + node("c")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (BOMB, 1, "got a document type declaration, expected none"),
        (LEAK, 1, "got a document type declaration, expected none"),
        ("<graphml>\n<graph></graphml>", 2, "not XML: mismatched tag"),
        ("<html/>", 1, "got <html>, expected <graphml>"),
        (graphml(TWO, edge("a", "x")), 7, '<edge>: target: got "x", expected the id of a node'),
        (graphml(TWO, edge("a", "c")), 7, 'edge from "a" to "c": got none, expected a delay, or'),
        (graphml(TWO, edge("a", "c", g="3")), 7, 'latency: got "3", expected a time such as'),
        (graphml(TWO, edge("a", "c", d="fast")), 7, 'LinkSpeedRaw: got "fast", expected a number'),
        (graphml(TWO, edge("a", "c", e="10")), 7, "LinkSpeedUnits: got nothing, expected one of K"),
        (
            graphml(node("a", b="91", c="0"), ""),
            6,
            'node "a": Latitude: got "91", expected degrees',
        ),
        (graphml(node("a") + node("a"), ""), 6, "expected an id that no other node has"),
        (graphml(TWO, "<hyperedge/>"), 7, "got <hyperedge>, expected edges between two nodes"),
        ("a c 1\na c 2", 2, "got it again, expected it once; the first is in line 1"),
        ("a c", 1, 'got "a c", expected two nodes, a latency in ms and perhaps a rate'),
        ("a c -1", 1, 'edge from "a" to "c": got "-1 ms", expected a time'),
    ],
)
def test_a_mistake_in_a_network_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    said = refusal(written(tmp_path, text, CLASSES))
    assert f"topology.file: net:{line}: " in said
    assert message in said


@pytest.mark.parametrize(
    ("matrix", "line", "message"),
    [
        ("from,to,flows\na,c,1", 1, 'got "from,to,flows", expected source,destination,flows or'),
        ("source,destination,flows\na,e,1", 2, 'destination: got "e", expected one of a, b, c'),
        ("source,destination,flows\na,a,1", 2, "expected a node other than the source"),
        ("source,destination,flows\na,c,-1", 2, 'flows: got "-1", expected a whole number'),
        ("source,destination,rate\na,c,10", 2, 'rate: got "10", expected a rate such as'),
        ("source,destination,flows\na,c,1\na,c,2", 3, "got it again, expected it once"),
    ],
)
def test_a_mistake_in_a_matrix_is_named_with_its_line(
    tmp_path: Path, matrix: str, line: int, message: str
) -> None:
    said = refusal(written(tmp_path, TRIANGLE, matrix=matrix))
    assert f"topology.matrix: matrix.csv:{line}: " in said
    assert message in said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('matrix = { gravity = "people" }', 'node "a": people: got nothing, expected a number'),
        ('matrix = { gravity = "capacity", pairs = 0 }', "topology.matrix.pairs: got 0, expected"),
        ('matrix = { gravity = "capacity", most = 3 }', "topology.matrix.most: unknown key"),
        (
            "matrix = 3",
            'expected the name of a CSV file, or a table such as { gravity = "capacity"',
        ),
        ('matrix = "absent.csv"', 'topology.matrix: "absent.csv" cannot be read: no such file'),
        ("", "topology.classes: got a list of 0, expected at least one"),
    ],
)
def test_a_mistake_in_the_scenario_is_named_with_its_key(
    tmp_path: Path, more: str, message: str
) -> None:
    assert message in refusal(written(tmp_path, TRIANGLE, more))


def test_a_device_or_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TRIANGLE, CLASSES)
    assert "no such file" in refusal(path, "topology.file=/dev/zero")
    assert "no such file" in refusal(path, "topology.file=absent")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)).filter(
            lambda e: e[0] != e[1]
        ),
        min_size=1,
        max_size=14,
    )
)
def test_a_route_is_the_first_of_all_by_delay_links_and_names(edges: Any) -> None:
    names = [f"{5 * i % 14:02}" for i in range(len(edges))]
    routing = Routing()
    for i, (start, end, delay) in enumerate(edges):
        routing.add(str(start), str(end), i, delay, names[i])

    def ways(here: int, end: int, seen: tuple[int, ...], way: tuple[int, ...]) -> Any:
        if here == end:
            yield way
            return
        for i, (start, to, _) in enumerate(edges):
            if start == here and to not in seen:
                yield from ways(to, end, (*seen, to), (*way, i))

    def order(way: tuple[int, ...]) -> Any:
        return sum(edges[i][2] for i in way), len(way), [names[i] for i in way]

    for start in {edge[0] for edge in edges}:
        for end in {edge[1] for edge in edges} - {start}:
            expected = min(ways(start, end, (start,), ()), key=order, default=())
            assert routing.shortest([(str(start), str(end))]) == [expected]


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.integers(0, 1000))
def test_parts_of_a_group_add_up_and_are_off_by_less_than_a_flow(
    weights: list[float], count: int
) -> None:
    parts = ClassParts.of(weights, count)
    assert sum(parts.counts) == count
    for weight, part in zip(weights, parts.counts, strict=True):
        assert abs(part - count * weight / sum(weights)) < 1
