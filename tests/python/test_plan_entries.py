"""The entries of a plan, whole: each key and value that the engine is given, and what is refused on
the way."""

from typing import Any

import pytest

from marqueue.errors import ScenarioError
from marqueue.scenario import compile, from_toml, ways_back
from small_scenario import SMALL

MS = 10**6
NECK = "topology.bottleneck"


def traffic(tables: str, *more: str) -> list[dict[str, Any]]:
    """The groups of the small scenario with other traffic."""
    return compile(from_toml(SMALL, [f"traffic=[{tables}]", *more]))["traffic"]


def said(*overrides: str) -> list[str]:
    """The messages about the small scenario with these replaced."""
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, overrides)
    return [str(problem) for problem in refused.value.problems]


def test_the_plan_of_a_dumbbell():
    plan = compile(from_toml(SMALL))
    assert list(plan) == [
        "duration",
        "boundaries",
        "sample",
        "links",
        "routes",
        "transports",
        "traffic",
    ]
    assert (plan["duration"], plan["sample"]) == (4000 * MS, 100 * MS)
    assert plan["transports"] == [{"preset": "ns2", "params": {"ecn": True}}]
    wire, neck = (
        next(link for link in plan["links"] if link["name"] == name)
        for name in ("40 ms/source", "bottleneck")
    )
    assert wire == {
        "name": "40 ms/source",
        "rate": 10**9,
        "delay": 10 * MS,
        "queue": None,
        "trace": False,
    }
    assert {key: neck[key] for key in ("rate", "delay", "trace", "schedule")} == {
        "rate": 10**7,
        "delay": 5 * MS,
        "trace": False,
        "schedule": [],
    }
    assert ways_back(from_toml(SMALL))["bottleneck"] == "reverse"
    assert ways_back(from_toml(SMALL))["80 ms/sink"] == "80 ms/sink/back"


#: One link without a buffer.
BARE = (
    'topology={kind="graph",links=[{name="ab",from="a",to="b",rate="1 Mbit/s",delay="1 ms"}],'
    'classes=[{name="only",from="a",to="b"}]}'
)


def test_a_link_of_a_graph_has_a_way_back():
    assert ways_back(from_toml(SMALL, [BARE])) == {"ab": "ab/back"}


def test_tcp():
    [group, _] = traffic(
        '{kind="tcp",count=3,start="1 s",stop="3 s",jitter="20 ms",size="9 packets",dscp="AF11"}'
    )
    assert group == {
        "name": "tcp/40 ms",
        "dscp": 10,
        "kind": {
            "tcp": {
                "route": 0,
                "start": 1000 * MS,
                "stop": 3000 * MS,
                "count": 2,
                "jitter": 20 * MS,
                "transport": 0,
                "size": 9,
                "trace": False,
                "write": None,
            }
        },
    }
    [group, _] = traffic('{kind="tcp",count=2,trace=true,sample_cwnd=true}')
    kind = group["kind"]["tcp"]
    assert (kind["start"], kind["stop"], kind["size"]) == (0, None, None)
    assert (kind["trace"], kind["sample_cwnd"]) == (True, True)


def test_poisson_flows():
    [group] = traffic('{kind="poisson",rate="5 /s",size="10 packets",start="1 s"}')
    assert group == {
        "name": "poisson",
        "dscp": 0,
        "kind": {
            "poisson": {
                "start": 1000 * MS,
                "stop": 4000 * MS,
                "transport": 0,
                "routes": [0, 1],
                "rate": 5.0,
                "size": 10,
            }
        },
    }
    [group] = traffic(
        '{kind="poisson",rate="5 /s",size="10 packets",sizes="pareto",shape=1.5,stop="3 s"}'
    )
    kind = group["kind"]["poisson"]
    assert (kind["stop"], kind["law"]) == (3000 * MS, {"pareto": {"shape": 1.5}})


def test_flows_of_constant_rate_and_rate_controlled_flows():
    [group] = traffic('{kind="cbr",rate="2 Mbit/s",packet="250 B"}')
    assert group["kind"] == {
        "cbr": {
            "route": 0,
            "start": 0,
            "stop": None,
            "count": 1,
            "jitter": 1000 * MS,
            "rate": 2 * 10**6,
            "packet": 250,
        }
    }
    control = '{name="aimd",beta=0.8}'
    [group] = traffic(f'{{kind="paced",rate="2 Mbit/s",control={control},ecn=true}}')
    assert group["kind"] == {
        "paced": {
            "route": 0,
            "start": 0,
            "stop": None,
            "count": 1,
            "jitter": 1000 * MS,
            "rate": 2 * 10**6,
            "packet": 1000,
            "ecn": True,
            "control": {"name": "aimd", "params": {"beta": 0.8}},
        }
    }
    [group] = traffic('{kind="paced",rate="2 Mbit/s",trace=true}')
    assert group["kind"]["paced"]["trace"] is True


def test_single_packets():
    [first, second] = traffic('{kind="packets",rate="100 /s",packet="500 B",start="1 s"}')
    assert first == {
        "name": "packets/40 ms",
        "dscp": 0,
        "kind": {
            "packets": {
                "route": 0,
                "start": 1000 * MS,
                "stop": None,
                "rate": 50.0,
                "packet": 500,
                "size": "constant",
            }
        },
    }
    assert second["kind"]["packets"]["route"] == 1


def test_flows_are_dealt_out_in_turn():
    counts = [
        [group["kind"]["tcp"]["count"] for group in traffic(f'{{kind="tcp",count={n}}}')]
        for n in (1, 2, 3, 4, 7)
    ]
    assert counts == [[1], [1, 1], [2, 1], [2, 2], [4, 3]]


def test_a_transport_is_chosen_by_name():
    plan = compile(
        from_toml(
            SMALL,
            [
                'transport={default={preset="ns2"},other={preset="linux",min_rto="1 s"}}',
                'traffic.0={kind="tcp",transport="other"}',
                "traffic.1.transport=other",
            ],
        )
    )
    assert plan["transports"] == [
        {"preset": "ns2", "params": {}},
        {"preset": "linux", "params": {"min_rto": 1.0}},
    ]
    first, *_, last = plan["traffic"]
    assert first["kind"]["tcp"]["transport"] == last["kind"]["poisson"]["transport"] == 1


def test_a_queue_takes_the_size_of_packets_from_the_first_group_or_its_own_key():
    def mean_packet(*overrides: str) -> int:
        plan = compile(from_toml(SMALL, overrides))
        [queue] = [link["queue"] for link in plan["links"] if link["queue"]]
        return queue["mean_packet"]

    assert mean_packet(f"{NECK}.packet=700 B") == 700
    assert mean_packet('traffic=[{kind="paced",rate="1 Mbit/s",packet="300 B"}]') == 300
    assert mean_packet('traffic=[{kind="cbr",rate="1 Mbit/s",packet="200 B"}]') == 200


def test_a_queue_without_an_aqm_drops_at_the_tail():
    plan = compile(from_toml(SMALL, [f'{NECK}={{rate="1 Mbit/s",delay="5 ms",buffer="9 kB"}}']))
    [queue] = [link["queue"] for link in plan["links"] if link["queue"]]
    assert queue["policy"] == {"name": "droptail", "params": {}}
    assert queue["limit"] == {"bytes": 9000}


def test_a_schedule_and_impairments_of_a_link():
    plan = compile(
        from_toml(
            SMALL,
            [
                f'{NECK}.schedule=[{{at="1 ms",rate="2 Mbit/s"}},{{at="3999 ms",rate="1 Mbit/s"}}]',
                f"{NECK}.trace=true",
            ],
        )
    )
    [neck] = [link for link in plan["links"] if link["name"] == "bottleneck"]
    assert neck["schedule"] == [[MS, 2 * 10**6], [3999 * MS, 10**6]]
    assert neck["trace"] is True


@pytest.mark.parametrize(
    ("times", "wrong", "expected"),
    [
        (["0 s"], 0, 'got "0 ms", expected a time after 0 ms and before 4 s'),
        (["4 s"], 0, 'got "4 s", expected a time after 0 ms and before 4 s'),
        (["1 s", "1 s"], 1, 'got "1 s", expected a time after 1 s and before 4 s'),
        (["2 s", "1 s"], 1, 'got "1 s", expected a time after 2 s and before 4 s'),
    ],
)
def test_the_times_of_a_schedule_increase_within_the_run(
    times: list[str], wrong: int, expected: str
):
    changes = ",".join(f'{{at="{at}",rate="1 Mbit/s"}}' for at in times)
    assert said(f"{NECK}.schedule=[{changes}]") == [f"{NECK}.schedule.{wrong}.at: {expected}"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["warmup=5 s"], 'warmup: got "5 s", expected less than duration (4 s)'),
        (['cuts=["4 s"]'], 'cuts.0: got "4 s", expected a time after 1 s and before 4 s'),
        (
            ['cuts=["3 s","2 s"]'],
            'cuts.1: got "2 s", expected a time after 3 s and before 4 s',
        ),
        (
            ["warmup=auto", "sample=0 s"],
            'warmup: got "auto" without a time series, expected sample above zero',
        ),
        (
            [BARE, "warmup=auto"],
            'warmup: got "auto", expected a link with a buffer',
        ),
        (
            ["warmup=auto", "sample=41 ms"],
            'warmup: got "auto", expected a duration of at least 100 samples of 41 ms',
        ),
        (
            ["traffic.long.sample_cwnd=true", "sample=0 s"],
            "traffic.long.sample_cwnd: got true, expected sample above zero with it",
        ),
        (
            ["traffic.long.start=4 s"],
            'traffic.long.start: got "4 s", expected less than duration (4 s)',
        ),
        (
            ["traffic.long.start=2 s", "traffic.long.stop=2 s"],
            'traffic.long.stop: got "2 s", expected a time after start (2 s)',
        ),
        (
            ["traffic.1.name=long"],
            'traffic.1.name: got "long" again, expected names that differ',
        ),
        (
            ['traffic.long.classes=["40 ms","0.04 s"]'],
            'traffic.long.classes.1: got "0.04 s" again, expected each class once',
        ),
        (
            ['traffic.long.classes=["slow"]'],
            'traffic.long.classes.0: got "slow", expected one of 40 ms, 80 ms',
        ),
        (
            ['traffic=[{kind="packets",rate="1 /s",packet="9 B",scv=4.0}]'],
            'traffic.0.scv: got 4.0, expected sizes to be "hyperexponential"',
        ),
        (
            ['traffic=[{kind="packets",rate="1 /s",packet="9 B",sizes="hyperexponential"}]'],
            "traffic.0.scv: got nothing, expected a number from 1",
        ),
    ],
)
def test_a_contradiction_is_told_once_and_in_full(overrides: list[str], message: str):
    assert said(*overrides) == [message]


def test_the_ends_of_a_run_are_no_contradictions():
    plan = compile(from_toml(SMALL, ["warmup=auto", "sample=40 ms"]))
    assert plan["boundaries"] == []
    plan = compile(from_toml(SMALL, ["warmup=3999 ms", "traffic.long.start=3999 ms"]))
    assert plan["boundaries"] == [3999 * MS]


def test_what_the_engine_refuses_is_told_at_its_place_in_the_scenario():
    for override, path in [
        (f"{NECK}.aqm.min_th=40 packets", f"{NECK}.aqm.max_th"),
        ("transport.default.loss_detection=rack", "transport.default.loss_detection"),
    ]:
        [message] = said(override)
        assert message.startswith(f"{path}: got ")


def test_a_cpu_tells_256_groups_apart():
    cpu = f'{NECK}.cpu={{clock="1 Mcycles/s",buffer="60 packets"}}'
    group = '{kind="cbr",rate="1 kbit/s",packet="9 B",processing="1 cycles/bit"}'
    groups = ",".join([group] * 256)
    assert len(traffic(groups, cpu)) == 256
    assert said(f"traffic=[{groups},{group}]", cpu) == [
        "traffic: got 257 groups, expected at most 256 where packets pass a CPU"
    ]
    assert len(traffic(f"{groups},{group}")) == 257
