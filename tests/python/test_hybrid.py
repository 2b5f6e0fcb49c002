"""Hybrid runs: which links are bottlenecks, what stands for the others, and what results say."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from marqueue import _core, run
from marqueue.cli import app
from marqueue.errors import ScenarioError
from marqueue.reports.run_report import write_report
from marqueue.results import Result
from marqueue.results.modelled import modelled_links
from marqueue.results.result_warnings import result_warnings, route_rtts
from marqueue.scenario import Scenario, compile, from_dict, plan_text
from marqueue.scenario.hybrid.bundles import Bundles
from marqueue.scenario.hybrid.prediction import predict
from marqueue.scenario.hybrid.progressive_filling import Crossings, fill
from marqueue.scenario.hybrid.square_root_law import tcp_rates


def crossings(routes: Sequence[Sequence[int]]) -> Crossings:
    """Bundles that cross these links, without acknowledgements."""
    first = np.concatenate([[0], np.cumsum([len(route) for route in routes])])
    links = np.array([link for route in routes for link in route], dtype=int)
    return Crossings(first, links, np.ones(len(links)))


def filled(
    routes: Sequence[Sequence[int]],
    capacity: Sequence[float],
    weights: Sequence[float] | None = None,
    wanted: Sequence[float] | None = None,
) -> list[float]:
    n = len(routes)
    most = np.full(n, np.inf) if wanted is None else np.array(wanted)
    shares = np.ones(n) if weights is None else np.array(weights)
    rates: list[float] = fill(crossings(routes), np.array(capacity), shares, most).tolist()
    return rates


@pytest.mark.parametrize(
    ("case", "rates"),
    [
        # A parking lot: the link of 2 is divided in halves, the long flow leaves 9 of the other.
        ({"routes": [[0, 1], [0], [1]], "capacity": [2.0, 10.0]}, [1.0, 1.0, 9.0]),
        # Bertsekas and Gallager's picture of it: three flows on the first link, 1/3 each.
        (
            {"routes": [[0, 1], [0], [0], [1], [2]], "capacity": [1.0, 1.0, 5.0]},
            [1 / 3, 1 / 3, 1 / 3, 2 / 3, 5.0],
        ),
        # Weights 1 and 3 at one bottleneck.
        ({"routes": [[0], [0]], "capacity": [8.0], "weights": [1.0, 3.0]}, [2.0, 6.0]),
        # One wants less than its part: the others divide what it leaves.
        (
            {"routes": [[0], [0], [0]], "capacity": [9.0], "wanted": [1.0, np.inf, np.inf]},
            [1.0, 4.0, 4.0],
        ),
        # Nothing is full where all want less.
        ({"routes": [[0], [0]], "capacity": [9.0], "wanted": [1.0, 2.0]}, [1.0, 2.0]),
        # A route that crosses a link twice takes twice its rate there.
        ({"routes": [[0, 0], [0]], "capacity": [9.0]}, [3.0, 3.0]),
    ],
)
def test_progressive_filling_has_the_rates_that_one_computes_by_hand(
    case: dict[str, Any], rates: list[float]
) -> None:
    assert filled(**case) == pytest.approx(rates)


def test_acknowledgements_take_their_part_of_the_way_back() -> None:
    """2 bit/s of data and as much in the other direction, where each link has 1.04 of it."""
    both = Crossings(np.array([0, 2, 4]), np.array([0, 1, 1, 0]), np.array([1, 0.04, 1, 0.04]))
    rates = fill(both, np.array([2.08, 2.08]), np.ones(2), np.full(2, np.inf))
    assert rates.tolist() == pytest.approx([2.0, 2.0])


networks = st.integers(1, 8).flatmap(
    lambda links: st.tuples(
        st.lists(st.floats(0.1, 1e9), min_size=links, max_size=links),
        st.lists(
            st.tuples(
                st.lists(st.integers(0, links - 1), min_size=1, max_size=5),
                st.floats(0.01, 1e4),
                st.one_of(st.just(np.inf), st.floats(0.0, 1e9)),
            ),
            min_size=1,
            max_size=12,
        ),
    )
)


@settings(max_examples=300)
@given(networks)
@example(([21.0], [([0], 0.01, np.inf), ([0] * 4, 8776.0, 1.0), ([0] * 5, 7842.0, 0.0)]))
def test_no_link_carries_more_than_its_rate_and_every_flow_has_a_reason_to_stop(
    network: tuple[list[float], list[tuple[list[int], float, float]]],
) -> None:
    capacity, flows = network
    routes, weights, wanted = (list(each) for each in zip(*flows, strict=True))
    rates = np.array(filled(routes, capacity, weights, wanted))
    loads = crossings(routes).loads(rates, len(capacity))
    # Sums of a dozen rates, in double precision.
    assert (loads <= np.array(capacity) * (1 + 1e-9)).all()
    full = loads >= np.array(capacity) * (1 - 1e-6)
    for route, rate, most in zip(routes, rates, wanted, strict=True):
        assert rate >= most * (1 - 1e-9) or full[route].any()


def test_square_root_law_divides_a_parking_lot_as_in_the_closed_form() -> None:
    """A long flow over n equal links with one short flow each hears n times their signals: its rate
    is 1 / sqrt(n) of theirs."""
    rates = tcp_rates(
        crossings([[0, 1, 2, 3], [0], [1], [2], [3]]),
        np.full(4, 3.0),
        np.ones(5),
        np.full(5, np.inf),
    )
    assert rates.tolist() == pytest.approx([1.0, 2.0, 2.0, 2.0, 2.0], rel=1e-6)


def chain(
    *,
    middle: str = "100 Mbit/s",
    traffic: Sequence[dict[str, Any]] = ({"kind": "tcp", "count": 6},),
    links: dict[str, dict[str, Any]] | None = None,
    **topology: Any,
) -> Scenario:
    """a - b - c - d with a bottleneck of 10 Mbit/s from a to b, and back: data goes from a to d."""
    rates = {"a b": "10 Mbit/s", "b c": middle, "c d": "200 Mbit/s"}
    made = [
        {"name": name, "from": start, "to": end, "rate": rate, "duplex": False}
        | (links or {}).get(name, {})
        for pair, rate in rates.items()
        for start, end in (pair.split(), pair.split()[::-1])
        for name in [f"{start} {end}"]
    ]
    return from_dict(
        {
            "name": "chain",
            "duration": "12 s",
            "warmup": "4 s",
            "sample": "0 s",
            "replications": 2,
            "topology": {
                "kind": "graph",
                "delay": "5 ms",
                "buffer": "50 packets",
                "aqm": "codel",
                "links": made,
                "classes": [{"name": "all", "from": "a", "to": "d"}],
                "queues": "bottlenecks",
                **topology,
            },
            "traffic": list(traffic),
        }
    )


def test_links_that_are_no_bottleneck_become_wires_with_their_delays() -> None:
    plan = compile(chain())
    kept = [link["name"] for link in plan["links"] if link["queue"] is not None]
    assert kept == ["a b"]
    [route] = plan["routes"]
    there, back = ([plan["links"][i] for i in route[way]] for way in ("forward", "reverse"))
    assert [link["name"] for link in there] == ["a b", "modelled/1"]
    assert [link["name"] for link in back] == ["modelled/2"]
    # The slowest link's transmitter is the wire's, and a packet of 1500 bytes takes 60 us at the
    # other. The waits at loads of 0.1 and 0.05 are a few microseconds.
    assert there[1]["rate"] == 100_000_000
    assert there[1]["delay"] == pytest.approx(10_000_000 + 60_000, abs=9_000)
    assert back[0]["rate"] == 10_000_000
    assert route_rtts(plan) == [pytest.approx(0.030)]


def test_the_wait_is_that_of_pollaczek_and_khinchine() -> None:
    """CBR packets of 1000 bytes fill 60% of 100 Mbit/s: M/D/1 has a wait of 0.6 / (2 x 0.4) = 0.75
    transmission times of 80 us."""
    cbr = {"kind": "cbr", "rate": "6 Mbit/s", "packet": "1000 B", "count": 10}
    scenario = chain(traffic=[cbr], links={"a b": {"rate": "200 Mbit/s"}})
    model = {
        link["name"]: link["model"]["link"]
        for link in compile(scenario)["links"]
        if "link" in link.get("model", {})
    }
    assert model["b c"]["utilization"] == pytest.approx(0.6)
    assert model["b c"]["wait"] == pytest.approx(60_000, abs=1)
    assert model["c b"] == {"utilization": 0.0, "wait": 0}


@pytest.mark.parametrize(
    "special",
    [
        {"trace": True},
        {"loss": "1%"},
        {"schedule": [{"at": "5 s", "rate": "90 Mbit/s"}]},
        {"aqm": "mkc"},
    ],
)
def test_links_with_more_than_a_queue_keep_their_packets(special: dict[str, Any]) -> None:
    plan = compile(chain(links={"b c": special}))
    kept = [link["name"] for link in plan["links"] if link["queue"] is not None]
    assert kept == ["a b", "b c"]


def test_what_only_starts_later_is_seen() -> None:
    """The link in the middle is full only while a second group is active."""
    late = {
        "kind": "cbr",
        "name": "late",
        "rate": "95 Mbit/s",
        "packet": "1000 B",
        "start": "6 s",
        "stop": "7 s",
        "classes": ["short"],
    }
    classes = [
        {"name": "all", "from": "a", "to": "d"},
        {"name": "short", "from": "b", "to": "c"},
    ]
    tcp = {"kind": "tcp", "count": 6, "classes": ["all"]}
    plan = compile(chain(traffic=[tcp, late], classes=classes))
    assert "b c" in [link["name"] for link in plan["links"] if link["queue"] is not None]


def test_what_is_lost_later_is_carried_before() -> None:
    """UDP of 150 Mbit/s fills a link of 200 to 75% although the next one passes 10 Mbit/s."""
    flood = {"kind": "cbr", "rate": "150 Mbit/s", "packet": "1000 B"}
    scenario = chain(
        traffic=[flood],
        links={"a b": {"rate": "200 Mbit/s"}, "b c": {"rate": "10 Mbit/s"}},
        queues="all",
    )
    plan = compile(scenario)
    routes = [(each["forward"], each["reverse"]) for each in plan["routes"]]
    found = predict(plan, Bundles.of(plan, routes)).utilization
    by_name = dict(zip((link["name"] for link in plan["links"]), found.tolist(), strict=True))
    assert by_name["a b"] == pytest.approx(0.75)
    assert by_name["b c"] == pytest.approx(15.0)


@pytest.fixture(scope="module")
def results() -> tuple[Result, Result]:
    """The chain with all queues, and with bottlenecks only."""
    return run(chain(queues="all")), run(chain())


def test_goodput_and_bottleneck_agree_with_the_run_of_all_packets(
    results: tuple[Result, Result],
) -> None:
    every, hybrid = results
    assert every.links == ["a b", "b a", "b c", "c b", "c d", "d c"]
    assert hybrid.links == ["a b"]
    # Six flows keep one bottleneck busy in both, so what differs is chance: 1% of the capacity is
    # a hundred packets a second, and both replications of either differ by less.
    goodputs = [each.traffic()["goodput"].mean for each in results]
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.01)
    one, other = (each.link("a b").figures() for each in results)
    assert other["utilization"].mean == pytest.approx(one["utilization"].mean, abs=0.01)
    # The standing queue of CoDel with six flows is 5 to 15 ms; means of 8 s vary by a tenth.
    assert other["delay_mean"].mean == pytest.approx(one["delay_mean"].mean, rel=0.2)


def test_results_say_what_was_a_model(results: tuple[Result, Result], tmp_path: Any) -> None:
    every, hybrid = results
    assert "modelled" not in every.summary()
    assert "modelled" not in every.table().caption
    summary = hybrid.summary()["modelled"]
    assert (summary["bottleneck_from"], summary["number"]) == (0.8, 5)
    middle = summary["links"]["b c"]
    # 10 Mbit/s through 100; what is delivered is somewhat less.
    assert middle["predicted_utilization"] == pytest.approx(0.1, abs=0.001)
    utilization = hybrid.link("a b").figures()["utilization"].mean
    assert middle["load"]["mean"] == pytest.approx(utilization / 10, rel=0.03)
    assert 0 < middle["wait"] < 60e-6
    said = "Hybrid: 1 link with queues and packets, 5 modelled (predicted utilization below 0.8)"
    assert said in hybrid.table().caption
    assert not [each for each in result_warnings(hybrid) if "predicted" in each]
    page = write_report(hybrid, tmp_path / "report.html").read_text()
    assert "Modelled links" in page
    again = Result.load(hybrid.save(tmp_path / "result"))
    assert again == hybrid
    assert modelled_links(again) == modelled_links(hybrid)


@pytest.mark.parametrize(
    ("thresholds", "queues"),
    [
        # The first link carries what the bottleneck of 10 Mbit/s behind it does: half of its rate.
        ({}, ["a b", "b c"]),
        ({"upstream_from": 0.51}, ["b c"]),
        ({"upstream_from": 1}, ["b c"]),
        # It is a bottleneck itself, with nothing before it.
        ({"bottleneck_from": 0.49, "upstream_from": 1}, ["a b", "b c"]),
        # Acknowledgements come to no bottleneck.
        ({"upstream_from": 0.001}, ["a b", "b c"]),
    ],
)
def test_busy_links_right_before_a_bottleneck_have_queues(
    thresholds: dict[str, float], queues: list[str]
) -> None:
    fast = {"a b": {"rate": "20 Mbit/s"}}
    assert run(chain(middle="10 Mbit/s", links=fast, **thresholds), replications=1).links == queues


def test_flows_over_one_link_to_a_bottleneck_get_more_than_others() -> None:
    """Their packets follow each other on that link, so fewer of them find the queue full than of
    those that come over another link, and have to wait for their retransmission timer."""
    hosts = [f"host{i}" for i in range(8)]
    ways = [
        *((host, "a", "100 Mbit/s", f"{3 + 1.37 * i} ms") for i, host in enumerate(hosts)),
        ("a", "b", "13 Mbit/s", "5 ms"),
        ("other", "b", "20 Mbit/s", "9.3 ms"),
        ("b", "c", "10 Mbit/s", "10 ms"),
    ]
    links = [
        {"name": f"{a} {b}", "from": a, "to": b, "rate": rate, "delay": delay, "duplex": False}
        for start, end, speed, delay in ways
        for a, b, rate in ((start, end, speed), (end, start, "100 Mbit/s"))
    ]
    base = chain().to_dict() | {"duration": "40 s", "warmup": "10 s", "replications": 4}
    base["topology"] |= {
        "links": links,
        "classes": [{"name": host, "from": host, "to": "c"} for host in (*hosts, "other")],
    }
    base["traffic"] = [
        {"kind": "tcp", "name": "one link", "count": 160, "classes": hosts},
        {"kind": "tcp", "name": "other", "count": 20, "classes": ["other"]},
    ]

    def share(*overrides: str) -> float:
        """Goodput of a flow from the other link over that of the many."""
        result = run(from_dict(base, overrides))
        other, many = (
            result.traffic(group=name)["goodput"].mean / count
            for name, count in (("other", 20), ("one link", 160))
        )
        return other / many

    every = share("topology.queues=all")
    # Intervals of such shares are ± 0.15.
    assert share() == pytest.approx(every, abs=0.2)
    assert share("topology.upstream_from=1") > every + 0.2


KINDS: list[dict[str, Any]] = [
    {"kind": "tcp", "count": 3},
    {"kind": "tcp", "write": "10 packets", "every": "50 ms"},
    {"kind": "poisson", "rate": "20 Hz", "size": "20 packets"},
    {"kind": "cbr", "rate": "6 Mbit/s", "packet": "1000 B"},
    {"kind": "paced", "rate": "1 Mbit/s"},
    {"kind": "quic", "count": 2},
    {"kind": "media", "max_rate": "3 Mbit/s"},
    {"kind": "packets", "rate": "500 Hz", "packet": "1000 B"},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: "-".join(list(each.values())[0:1]))
def test_prediction_and_load_of_every_kind_are_what_the_link_would_have_carried(
    kind: dict[str, Any],
) -> None:
    every, hybrid = (
        run(chain(traffic=[kind], queues=queues), replications=1)
        for queues in ("all", "bottlenecks")
    )
    [middle] = [each for each in modelled_links(hybrid) if each.name == "b c"]
    carried = every.link("b c").figures()["utilization"].mean
    # Headers of packets that are not full, and for random arrivals the same draws.
    assert middle.load.mean == pytest.approx(carried, rel=0.05)
    # AIMD with rates halves them at a full buffer: it uses 87% of what it could.
    assert middle.predicted == pytest.approx(carried, rel=0.16)


def test_a_link_that_was_wrongly_modelled_is_named() -> None:
    """An application that writes 6000 packets of 1500 bytes every 12 s asks for 6 Mbit/s on
    average. But all of it is sent in the eight seconds that are measured."""
    bursts = {
        "kind": "tcp",
        "write": "6000 packets",
        "every": "12 s",
        "start": "4 s",
        "jitter": "0 s",
    }
    result = run(chain(traffic=[bursts]), replications=1)
    assert result.links == []
    [said] = [each for each in result_warnings(result) if "Modelled links that carried" in each]
    assert "a b (" in said
    assert "predicted 0.60)" in said
    assert "b c" not in said


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ({"queues": "some"}, 'topology.queues: got "some", expected one of all, bottlenecks'),
        ({"bottleneck_from": 0.99}, "topology.bottleneck_from: got 0.99, expected"),
        ({"bottleneck_from": 0}, "topology.bottleneck_from: got 0, expected"),
        ({"upstream_from": 1.5}, "topology.upstream_from: got 1.5, expected at most 1.0"),
        ({"upstream_from": "few"}, 'topology.upstream_from: got "few", expected a number'),
        ({"upstream_from": np.inf}, "topology.upstream_from: got inf, expected a finite number"),
    ],
)
def test_wrong_values_are_refused_with_their_place(topology: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        chain(**topology)
    assert message in str(error.value)


def test_too_many_starts_are_refused() -> None:
    traffic = [
        {"kind": "cbr", "rate": "1 kbit/s", "packet": "100 B", "start": f"{i} ms"}
        for i in range(70)
    ]
    with pytest.raises(ScenarioError, match=r"topology\.queues: got .* 70 .* expected at most 64"):
        chain(traffic=traffic)


def test_without_numpy_it_is_refused() -> None:
    """As in the page of the lab, whose Python has none."""
    code = (
        "import sys; sys.modules['numpy'] = None; from marqueue import from_toml; from_toml(TEXT)"
    )
    program = code.replace("TEXT", repr(chain().to_toml()))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    expected = 'topology.queues: got "bottlenecks", expected "all" where Python has no numpy'
    assert expected in done.stderr


def test_mistakes_at_links_that_are_modelled_are_found() -> None:
    aqm = {"name": "red", "min_th": "30 packets", "max_th": "20 packets"}
    with pytest.raises(ScenarioError, match="max_th"):
        chain(links={"b c": {"aqm": aqm}})


def test_the_command_says_it(tmp_path: Any) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(chain().to_toml())
    command = ["run", str(file), "--set", "duration=5 s", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "5 modelled" in done.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(summary["modelled"]["links"]) == {"b a", "b c", "c b", "c d", "d c"}
    wrong = CliRunner().invoke(app, ["run", str(file), "--set", "topology.queues=few"])
    assert isinstance(wrong.exception, ScenarioError)
    assert wrong.exception.exit_code == 2
    assert f"{file}: topology.queues: got" in str(wrong.exception)


def test_several_threads_have_the_same_result() -> None:
    plan = plan_text(chain())
    assert len({_core.digest(plan, 1, threads=threads) for threads in (1, 2, 3)}) == 1
