"""From a scenario to a plan: routes and delays checked by arithmetic."""

import json
from typing import Any

import pytest

from conftest import EXAMPLES
from marqueue import _core
from marqueue.errors import ScenarioError
from marqueue.scenario import class_names, compile, from_toml, load
from small_scenario import SMALL

MS = 10**6


def by_name(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in plan["links"]}


def names(plan: dict[str, Any], way: list[int]) -> list[str]:
    return [plan["links"][i]["name"] for i in way]


def round_trip(plan: dict[str, Any], route: dict[str, Any]) -> int:
    return sum(plan["links"][i]["delay"] for i in (*route["forward"], *route["reverse"]))


def test_a_dumbbell_has_the_round_trips_that_were_asked_for():
    scenario = from_toml(SMALL)
    plan = compile(scenario)
    assert class_names(scenario) == ["40 ms", "80 ms"]
    assert [round_trip(plan, route) for route in plan["routes"]] == [40 * MS, 80 * MS]
    route = plan["routes"][0]
    assert names(plan, route["forward"]) == ["40 ms/source", "bottleneck", "40 ms/sink"]
    assert names(plan, route["reverse"]) == ["40 ms/sink/back", "reverse", "40 ms/source/back"]
    links = by_name(plan)
    assert links["40 ms/source"]["delay"] == 10 * MS
    assert links["40 ms/sink"]["delay"] == links["bottleneck"]["delay"] == 5 * MS
    assert links["40 ms/source"]["rate"] == 10**9
    assert [name for name, link in links.items() if link["queue"]] == ["bottleneck"]
    assert links["reverse"]["rate"] == links["bottleneck"]["rate"] == 10**7


def test_a_queue_has_its_values_in_base_units():
    plan = compile(from_toml(SMALL))
    assert by_name(plan)["bottleneck"]["queue"] == {
        "policy": {"name": "red", "params": {"min_th": 10.0, "max_th": 30.0}},
        "limit": {"packets": 50},
        "signal": "ecn",
        # ns2 counts no headers: 1000 bytes of payload are 1000 bytes on the wire.
        "mean_packet": 1000,
    }


def test_a_dumbbell_may_have_a_queue_on_the_way_back():
    plan = compile(
        from_toml(
            SMALL,
            ['topology.reverse={rate="1 Mbit/s",delay="7 ms",buffer="30 kB",aqm="codel"}'],
        )
    )
    back = by_name(plan)["reverse"]
    assert (back["rate"], back["delay"]) == (10**6, 7 * MS)
    assert back["queue"]["limit"] == {"bytes": 30_000}
    assert back["queue"]["policy"] == {"name": "codel", "params": {}}


def test_a_packet_has_its_timestamps_on_the_wire():
    plan = compile(from_toml(SMALL, ["transport.default.preset=linux"]))
    # 1448 bytes of payload, 40 of headers, 12 of timestamps: what an Ethernet frame holds.
    assert by_name(plan)["bottleneck"]["queue"]["mean_packet"] == 1500
    plan = compile(from_toml(SMALL, ["transport.default.timestamps=true"]))
    assert by_name(plan)["bottleneck"]["queue"]["mean_packet"] == 1000, "ns2 counts no headers"


def test_an_application_may_write_in_pieces():
    pieces = ['traffic.0={kind="tcp",write="10 packets",every="20 ms"}']
    [first, *_] = compile(from_toml(SMALL, pieces))["traffic"]
    assert first["kind"]["tcp"]["write"] == {
        "packets": 10,
        "every": 20 * MS,
        "gaps": "constant",
    }
    [first, *_] = compile(from_toml(SMALL, [*pieces, "traffic.0.gaps=exponential"]))["traffic"]
    assert first["kind"]["tcp"]["write"]["gaps"] == "exponential"
    [first, *_] = compile(from_toml(SMALL))["traffic"]
    assert first["kind"]["tcp"]["write"] is None


def test_flows_are_dealt_out_over_the_classes():
    plan = compile(from_toml(SMALL))
    first, second, short = plan["traffic"]
    assert (first["name"], first["kind"]["tcp"]["count"]) == ("long/40 ms", 3)
    assert (second["name"], second["kind"]["tcp"]["count"]) == ("long/80 ms", 2)
    assert short["name"] == "short"
    assert short["kind"]["poisson"]["routes"] == [0, 1]
    assert short["kind"]["poisson"]["rate"] == 5.0
    assert short["kind"]["poisson"]["stop"] == plan["duration"] == 4000 * MS


def test_a_class_without_flows_has_no_group_and_classes_may_be_written_in_any_unit():
    plan = compile(from_toml(SMALL, ["traffic.long.count=1"]))
    assert [group["name"] for group in plan["traffic"]] == ["long/40 ms", "short"]
    plan = compile(from_toml(SMALL, ['traffic.long.classes=["0.08 s"]']))
    assert [group["name"] for group in plan["traffic"]] == ["long/80 ms", "short"]


def test_windows_end_at_the_warm_up_and_at_the_cuts():
    assert compile(from_toml(SMALL, ['cuts=["2 s","3 s"]']))["boundaries"] == [
        1000 * MS,
        2000 * MS,
        3000 * MS,
    ]
    assert compile(from_toml(SMALL, ["warmup=0 s"]))["boundaries"] == []


def test_a_parking_lot_has_a_class_over_all_hops_and_one_over_each():
    [path] = [path for path in EXAMPLES if path.stem == "parking-lot"]
    scenario = load(path)
    plan = compile(scenario)
    assert class_names(scenario) == ["through", "hop 1", "hop 2", "hop 3"]
    through, first, *_ = plan["routes"]
    assert names(plan, through["forward"])[1:-1] == ["hop 1", "hop 2", "hop 3"]
    assert names(plan, through["reverse"])[1:-1] == ["hop 3/back", "hop 2/back", "hop 1/back"]
    # Three hops of 10 ms and two access links of 5 ms, there and back.
    assert round_trip(plan, through) == 2 * (3 * 10 + 2 * 5) * MS
    assert round_trip(plan, first) == 2 * (10 + 2 * 5) * MS
    assert by_name(plan)["hop 2"]["schedule"] == [[40_000 * MS, 10_000_000]]


def test_a_star_has_an_access_rate_for_each_class():
    [path] = [path for path in EXAMPLES if path.stem == "star"]
    plan = compile(load(path))
    assert [round_trip(plan, route) for route in plan["routes"]] == [60 * MS, 20 * MS]
    assert names(plan, plan["routes"][0]["forward"]) == ["dsl/source", "bottleneck"]
    assert by_name(plan)["dsl/source"]["rate"] == 16_000_000
    assert by_name(plan)["fibre/source"]["rate"] == 10**9


GRAPH = """\
name = "Graph"
duration = "4 s"
[topology]
kind = "graph"
links = [
    { name = "ab", from = "a", to = "b", rate = "1 Mbit/s", delay = "10 ms", buffer = "9 packets" },
    { name = "bd", from = "b", to = "d", rate = "10 Mbit/s", delay = "10 ms" },
    { name = "ad", from = "a", to = "d", rate = "10 Mbit/s", delay = "20 ms" },
    { name = "ac", from = "a", to = "c", rate = "10 Mbit/s", delay = "15 ms" },
    { name = "cd", from = "c", to = "d", rate = "10 Mbit/s", delay = "10 ms", duplex = false },
    { name = "island", from = "x", to = "y", rate = "10 Mbit/s", delay = "1 ms" },
]
classes = [{ name = "only", from = "a", to = "d" }]
[[traffic]]
kind = "tcp"
"""


def only_route(*overrides: str) -> tuple[list[str], list[str]]:
    plan = compile(from_toml(GRAPH, overrides))
    [route] = plan["routes"]
    return names(plan, route["forward"]), names(plan, route["reverse"])


def test_a_route_has_the_least_delay_then_the_fewest_links():
    assert only_route() == (["ad"], ["ad/back"])
    assert only_route("topology.links.ab.delay=9 ms") == (["ab", "bd"], ["bd/back", "ab/back"])


def test_a_route_passes_the_nodes_that_it_is_sent_by():
    # c cannot be reached from d directly: the way back goes by a.
    assert only_route('topology.classes.0.via=["c"]') == (
        ["ac", "cd"],
        ["ad/back", "ac", "ac/back"],
    )


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "topology.classes.0.to=y",
            'topology.classes.only: no way from "a" to "y", expected links',
        ),
        ("topology.classes.0.to=z", 'topology.classes.only.to: got "z", expected one of a, b, c'),
        ('topology.classes.0.via=["q"]', 'topology.classes.only.via.0: got "q", expected one of a'),
        ("topology.links.ab.to=a", 'topology.links.ab.to: got "a", expected a node other than'),
        ("topology.links.bd.name=ab", 'two links are named "ab"'),
        ("topology.links.bd.aqm=red", "topology.links.bd.buffer: missing, expected a buffer"),
    ],
)
def test_a_route_to_nowhere_is_refused(override: str, said: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(GRAPH, [override])
    assert said in str(refused.value)


def test_a_one_way_street_has_no_way_back():
    links = 'topology.links=[{name="ab",from="a",to="d",rate="1 Mbit/s",delay="1 ms",duplex=false}]'
    with pytest.raises(ScenarioError, match='no way from "d" to "a"'):
        from_toml(GRAPH, [links])


def test_packets_and_constant_rate_traffic():
    plan = compile(
        from_toml(
            SMALL,
            [
                'traffic=[{kind="packets",rate="100 /s",packet="500 B",sizes="exponential"},'
                '{kind="cbr",rate="1 Mbit/s",packet="250 B",count=3},'
                '{kind="cbr",rate="2 Mbit/s",packet="250 B"}]'
            ],
        )
    )
    packets = plan["traffic"][0]["kind"]["packets"]
    # Two classes share a Poisson process of 100 packets a second.
    assert packets["rate"] == 50.0
    assert packets["size"] == "exponential"
    assert [group["name"] for group in plan["traffic"]] == [
        "packets/40 ms",
        "packets/80 ms",
        "cbr/40 ms",
        "cbr/80 ms",
        "cbr 2/40 ms",
    ]
    assert plan["traffic"][2]["kind"]["cbr"]["rate"] == 10**6
    # AQMs that count in packets take the size of the first traffic.
    assert by_name(plan)["bottleneck"]["queue"]["mean_packet"] == 500


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_engine_accepts_the_plan_of_an_example(path):
    _core.check(json.dumps(compile(load(path))))


MM1 = next(path for path in EXAMPLES if path.stem == "mm1")


def test_the_law_of_packet_sizes_reaches_the_plan():
    assert compile(load(MM1))["traffic"][0]["kind"]["packets"]["size"] == "exponential"
    varied = load(MM1, ["traffic.0.sizes=hyperexponential", "traffic.0.scv=6.0"])
    size = compile(varied)["traffic"][0]["kind"]["packets"]["size"]
    assert size == {"hyperexponential": {"scv": 6.0}}


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["traffic.0.sizes=hyperexponential"], "traffic.0.scv: got nothing"),
        (["traffic.0.scv=4.0"], 'traffic.0.scv: got 4.0, expected sizes to be "hyperexponential"'),
        (["traffic.0.sizes=hyperexponential", "traffic.0.scv=0.5"], "traffic.0.scv"),
    ],
)
def test_a_coefficient_of_variation_belongs_to_one_law(overrides: list[str], said: str):
    with pytest.raises(ScenarioError, match="scv") as refused:
        compile(load(MM1, overrides))
    assert said in str(refused.value)
