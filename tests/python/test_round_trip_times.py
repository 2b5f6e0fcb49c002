"""Round-trip times from a distribution: each flow has a draw and a link of its own."""

from pathlib import Path

import numpy as np
import pytest

import marqueue
from marqueue import from_dict, load
from marqueue.errors import ScenarioError
from marqueue.scenario import Scenario
from marqueue.scenario.delays import DelayDistribution
from marqueue.scenario.quadrature import with_classes
from marqueue.theory.steady_state.model import steady
from marqueue.units import Duration

UNIFORM = {"uniform": ["120 ms", "280 ms"]}
SHARED = Duration.parse("20 ms")
"""Two-way delay of the bottleneck and the destinations' links."""


def dumbbell(rtts: object, access: dict[str, object] | None = None, **changed: object) -> Scenario:
    link = {"rate": "1 Gbit/s", "delay": "5 ms"} | (access or {})
    bottleneck = {"rate": "20 Mbit/s", "delay": "5 ms", "buffer": "100 packets", "aqm": "red"}
    scenario: dict[str, object] = {
        "name": "spread",
        "duration": "10 s",
        "warmup": "2 s",
        "replications": 2,
        "topology": {"kind": "dumbbell", "rtts": rtts, "bottleneck": bottleneck, "access": link},
        "transport": {"default": {"preset": "ns2", "ecn": True}},
        "traffic": [{"kind": "tcp", "count": 40, "jitter": "1 s"}],
    }
    return from_dict(scenario | changed)


LAWS = [
    UNIFORM,
    {"exponential": "150 ms"},
    {"exponential": "150 ms", "least": "60 ms"},
    {"lognormal": "150 ms", "sigma": 0.5},
    {"lognormal": "150 ms", "sigma": 0.5, "least": "140 ms"},
    {"empirical": ["40 ms", "90 ms", "200 ms"]},
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_follow_the_law(law: dict[str, object]):
    result = marqueue.run(dumbbell(law, traffic=[{"kind": "tcp", "count": 2000}], duration="3 s"))
    drawn = np.sort(result.tables["flows"]["propagation"].to_numpy())
    distribution = DelayDistribution.read(law)
    # The largest distance of 4000 draws from their law is below 1.95/sqrt(4000) in 99.9% of samples
    # (Kolmogorov); quantiles are checked from both sides, so steps of an empirical law are too.
    slack = 1.95 / np.sqrt(len(drawn))
    for p in (0.05, 0.25, 0.5, 0.75, 0.95):
        low, high = (distribution.quantile(q, SHARED) for q in (p - slack, p + slack))
        at = drawn[int(p * len(drawn))]
        assert low - 1e-8 <= at <= high + 1e-8, (p, at)


def test_the_same_seed_draws_the_same_and_replications_differ():
    first, second = (marqueue.run(dumbbell(UNIFORM)).tables["flows"] for _ in range(2))
    assert first["propagation"].equals(second["propagation"])
    by_replication = first["propagation"].to_numpy().reshape(2, 40)
    assert not np.intersect1d(*by_replication).size


def test_results_are_by_quarters_of_round_trip_times():
    result = marqueue.run(dumbbell(UNIFORM))
    name = "uniform 120 ms to 280 ms"
    assert result.classes == [f"{name}, RTT quarter {i}" for i in (1, 2, 3, 4)]
    flows = result.tables["flows"].to_pandas()
    longest = flows.groupby(["replication", "class"])["propagation"].agg(["min", "max", "size"])
    assert (longest["size"] == 10).all()
    for _, each in longest.groupby("replication"):
        assert (each["max"].to_numpy()[:-1] <= each["min"].to_numpy()[1:]).all()


def test_flows_of_a_class_may_have_links_of_their_own():
    # Twenty flows share an access link of 1 Mbit/s, or have one each.
    access = {"rate": "1 Mbit/s"}
    slow = dumbbell(["60 ms"], access, traffic=[{"kind": "tcp", "count": 20}])
    fast = dumbbell(["60 ms"], access | {"per_flow": True}, traffic=[{"kind": "tcp", "count": 20}])
    used = [marqueue.run(each).link().values("utilization").mean() for each in (slow, fast)]
    assert used[0] < 0.06
    assert used[1] > 0.9


def test_a_star_and_a_graph_take_distributions_too():
    star = {
        "kind": "star",
        "classes": [{"name": "near", "rtt": "40 ms"}, {"name": "spread", "rtt": UNIFORM}],
        "bottleneck": {"rate": "10 Mbit/s", "delay": "5 ms", "buffer": "50 packets"},
    }
    graph = {
        "kind": "graph",
        "links": [
            {"name": "source", "from": "s", "to": "a", "rate": "1 Gbit/s",
             "delay": {"uniform": ["50 ms", "130 ms"]}},
            {"name": "neck", "from": "a", "to": "d", "rate": "10 Mbit/s", "delay": "5 ms",
             "buffer": "50 packets"},
        ],
        "classes": [{"name": "all", "from": "s", "to": "d"}],
    }  # fmt: skip
    for topology, bounds in ((star, (0.040, 0.280)), (graph, (0.110, 0.270))):
        result = marqueue.run(dumbbell(UNIFORM, topology=topology))
        drawn = result.tables["flows"]["propagation"].to_numpy()
        assert bounds[0] <= drawn.min() < drawn.max() <= bounds[1]
        assert len(np.unique(drawn)) > 15


def test_finite_and_poisson_flows_draw_too():
    traffic = [{"kind": "poisson", "rate": "20/s", "size": "5 packets", "name": "short"}]
    result = marqueue.run(dumbbell(UNIFORM, traffic=traffic))
    flows = result.tables["flows"].to_pandas().dropna(subset="fct")
    assert len(flows) > 100
    assert flows["propagation"].between(0.120, 0.280).all()
    # The exchange of SYN and two windows of data: three round trips.
    assert (flows["fct"] >= 3 * flows["propagation"]).all()


def test_a_scenario_with_a_distribution_survives_being_written():
    for law in LAWS:
        scenario = dumbbell(law)
        assert from_dict(scenario.to_dict()) == scenario


def test_models_take_the_midpoints_of_sixteen_quantiles():
    classes = with_classes(dumbbell(UNIFORM))
    assert [str(rtt) for rtt in classes.topology.rtts][::15] == ["125 ms", "275 ms"]
    assert steady(dumbbell(UNIFORM)) == steady(classes)


MISTAKES = [
    ({"unifrom": ["1 s", "2 s"]}, 'topology.rtts.unifrom: unknown key', 'did you mean "uniform"?'),
    ({"uniform": ["2 s", "1 s"]}, "topology.rtts.uniform: got", "two times, the shorter first"),
    ({"uniform": ["10 ms", "1 s"]}, 'topology.rtts: got "10 ms"', "at least twice"),
    ({"lognormal": "1 s"}, "topology.rtts.sigma: got nothing", "a number above 0"),
    ({"uniform": ["1 s", "2 s"], "sigma": 1}, "topology.rtts.sigma: got 1", "with lognormal"),
    ({"exponential": "10 ms"}, 'topology.rtts.exponential: got "10 ms"', "the shortest delay"),
    ({"lognormal": "50 ms", "sigma": 0.1, "least": "1 s"}, "topology.rtts.lognormal: got", "1% of"),
    ({"empirical": ["40 ms", "x"]}, 'topology.rtts.empirical.1: got "x"', "a time such as"),
    ({"uniform": ["1 s", "2 s"], "empirical": ["1 s"]}, "topology.rtts: got uniform and", "one of"),
]  # fmt: skip


@pytest.mark.parametrize(("law", "place", "expected"), MISTAKES, ids=str)
def test_a_mistake_is_answered_with_place_and_value(law, place: str, expected: str):
    with pytest.raises(ScenarioError) as refused:
        dumbbell(law)
    assert place in str(refused.value)
    assert expected in str(refused.value)


def test_what_links_of_flows_do_not_have_is_refused():
    with pytest.raises(ScenarioError, match=r"access\.loss: got impairments, expected none where"):
        dumbbell(UNIFORM, {"loss": "1%"})
    with pytest.raises(ScenarioError, match=r"access\.trace: got true, expected none where"):
        dumbbell(["60 ms"], {"per_flow": True, "trace": True})


def test_delays_come_from_a_column_of_a_file_beside_the_scenario(tmp_path: Path):
    (tmp_path / "measured.csv").write_text("site,rtt\na,40 ms\nb,95 ms\nc,210 ms\n")
    path = tmp_path / "scenario.toml"
    law = '{ empirical = "measured.csv", column = "rtt" }'
    text = dumbbell(["60 ms"]).to_toml().replace('rtts = [\n    "60 ms",\n]', f"rtts = {law}")
    assert law in text
    path.write_text(text)
    rtts = load(path).topology.rtts
    assert [str(time) for time in rtts.times] == ["40 ms", "95 ms", "210 ms"]

    path.write_text(text.replace('"rtt"', '"rrt"'))
    with pytest.raises(ScenarioError, match=r'topology\.rtts\.column: got "rrt"'):
        load(path)
    path.write_text(text.replace("measured", "mesured"))
    with pytest.raises(ScenarioError, match=r"topology\.rtts\.empirical: .* No such file"):
        load(path)
