"""Scenarios at the user's boundary: what is accepted, and what is said of everything else."""

import tomllib

import jsonschema
import pytest

from conftest import EXAMPLES, schema_validator
from marqueue.errors import MOST_PROBLEMS, ScenarioError
from marqueue.scenario import (
    Aqm,
    Dumbbell,
    Poisson,
    Queue,
    Scenario,
    Tcp,
    Transport,
    from_dict,
    from_toml,
    load,
    schema,
    with_overrides,
)
from marqueue.units import Duration, Frequency, Packets, Rate
from small_scenario import SMALL


def problems(*overrides: str) -> dict[str, str]:
    """What is said of the small scenario with these replaced."""
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, overrides)
    return {problem.path: problem.message for problem in refused.value.problems}


NECK = "topology.bottleneck"


@pytest.mark.parametrize(
    ("override", "path", "said"),
    [
        ("durations=1 s", "durations", "unknown key, expected one of name, description, duration"),
        ("durations=1 s", "durations", 'did you mean "duration"?'),
        (f"{NECK}.bufer=1 packet", f"{NECK}.bufer", 'did you mean "buffer"?'),
        (f"{NECK}.rate=10 ms", f"{NECK}.rate", 'got "10 ms", expected a rate such as "10 Mbit/s"'),
        (f"{NECK}.rate=10", f"{NECK}.rate", "got 10, expected a rate"),
        (f"{NECK}.rate=-1 Mbit/s", f"{NECK}.rate", 'got "-1 Mbit/s", expected a rate'),
        (f"{NECK}.rate=0 Mbit/s", f"{NECK}.rate", "above zero"),
        (f"{NECK}.buffer=5 kg", f"{NECK}.buffer", 'such as "100 packets" or "150 kB"'),
        (f"{NECK}.buffer=0 packets", f"{NECK}.buffer", "above zero"),
        (f"{NECK}.signal=enc", f"{NECK}.signal", 'got "enc", expected one of drop, ecn, ecn-only'),
        (f"{NECK}.packet=2000 MB", f"{NECK}.packet", "a packet of up to 1 GB"),
        (f"{NECK}.aqm=droptial", f"{NECK}.aqm", 'did you mean "droptail"?'),
        (f"{NECK}.aqm=7", f"{NECK}.aqm", "got 7, expected the name of an AQM"),
        (f"{NECK}.aqm.name=Red", f"{NECK}.aqm.name", 'did you mean "red"?'),
        (f"{NECK}.aqm.max_pp=0.1", f"{NECK}.aqm.max_pp", 'did you mean "max_p"?'),
        (f"{NECK}.aqm.max_p=1.5", f"{NECK}.aqm.max_p", "got 1.5, expected a number, 0 to 1"),
        (f"{NECK}.aqm.max_p=nan", f"{NECK}.aqm.max_p", "got nan, expected a number"),
        (f"{NECK}.aqm.max_p=high", f"{NECK}.aqm.max_p", 'got "high", expected a number'),
        (f"{NECK}.aqm.gentle=1", f"{NECK}.aqm.gentle", "got 1, expected true or false"),
        (f"{NECK}.aqm.mode=bits", f"{NECK}.aqm.mode", "expected one of packets, bytes"),
        (f"{NECK}.aqm.min_th=5", f"{NECK}.aqm.min_th", 'such as "100 packets"'),
        (f"{NECK}.aqm.min_th=5 ms", f"{NECK}.aqm.min_th", 'got "5 ms"'),
        (f"{NECK}.aqm.min_th=40 packets", f"{NECK}.aqm.max_th", "got 30 packets"),
        (
            'topology.bottleneck.schedule=[{at="5 s",rate="1 Mbit/s"}]',
            f"{NECK}.schedule.0.at",
            "before 4 s",
        ),
        (
            "topology.kind=ring",
            "topology.kind",
            "expected one of dumbbell, parking-lot, star, graph",
        ),
        ("topology.rtts=[]", "topology.rtts", "expected at least one"),
        ('topology.rtts=["15 ms"]', "topology.rtts.0", "topology.bottleneck.delay (5 ms)"),
        ('topology.rtts=["15 ms"]', "topology.rtts.0", "topology.access.delay (5 ms)"),
        ('topology.rtts=["1 s","1000 ms"]', "topology", 'two classes are named "1 s"'),
        (
            "transport.default.preset=tahoe",
            "transport.default.preset",
            "expected one of rfc, ns2, linux",
        ),
        (
            "transport.default.loss_detection=rack",
            "transport.default.loss_detection",
            "RACK needs recovery by SACK",
        ),
        (
            'transport.default={preset="linux",segment="65495 B"}',
            "transport.default.segment",
            "at most 65483 B: with 52 B of headers an IPv4 packet of 65535 B",
        ),
        (
            "transport.default.window_scale=1.5",
            "transport.default.window_scale",
            "expected a whole number, 0 to 14",
        ),
        ("traffic.0.write=10 packets", "traffic.long", "expected both"),
        ("traffic.0.gaps=exponential", "traffic.long", "without write and every"),
        (
            'traffic.0={kind="tcp",write="9 packets",every="5 s"}',
            "traffic.0.every",
            "at most the duration of the run",
        ),
        ("transport.default.ecnn=true", "transport.default.ecnn", 'did you mean "ecn"?'),
        ("transport.default.min_rto=2 min", "transport.default.min_rto", "0 ms to 60 s"),
        ("transport=3", "transport", "got 3, expected a table"),
        ("traffic=[]", "traffic", "got a list of 0, expected at least one"),
        ("traffic=none", "traffic", 'got "none", expected a list'),
        ("traffic.0.count=0", "traffic.long.count", "got 0, expected at least 1"),
        ("traffic.0.count=many", "traffic.long.count", 'got "many", expected a whole number'),
        ("traffic.0.kind=tpc", "traffic.long.kind", 'did you mean "tcp"?'),
        ("traffic.0.name=a/b", "traffic.0.name", 'got "a/b"'),
        ("traffic.0.name=short", "traffic.1.name", 'got "short" again'),
        ("traffic.0.transport=x", "traffic.long.transport", 'got "x", expected one of default'),
        (
            'traffic.0.classes=["50 ms"]',
            "traffic.long.classes.0",
            'got "50 ms", expected one of 40 ms',
        ),
        (
            'traffic.0.classes=["40 ms","40 ms"]',
            "traffic.long.classes.1",
            "expected each class once",
        ),
        ("traffic.0.start=4 s", "traffic.long.start", "expected less than duration (4 s)"),
        ("traffic.0.stop=0 s", "traffic.long.stop", "expected a time after start"),
        ("traffic.long.kind=cbr", "traffic.long.rate", "missing, expected a rate"),
        ("warmup=4 s", "warmup", "expected less than duration (4 s)"),
        ('cuts=["1 s"]', "cuts.0", "expected a time after 1 s and before 4 s"),
        ("seed=-1", "seed", "got -1, expected at least 0"),
        ("replications=1.5", "replications", "got 1.5, expected a whole number"),
        ("name=", "name", 'got "", expected a text that is not empty'),
    ],
)
def test_a_mistake_is_told_with_place_value_and_what_was_expected(
    override: str, path: str, said: str
):
    found = problems(override)
    assert path in found
    assert said in found[path]


def test_a_missing_value_is_told_with_what_was_expected():
    data = tomllib.loads(SMALL)
    del data["duration"], data["topology"]["bottleneck"]["rate"]
    with pytest.raises(ScenarioError) as refused:
        from_dict(data)
    assert str(refused.value).splitlines() == [
        'scenario: duration: missing, expected a time such as "40 ms" '
        "(units: ns, us, ms, s, min, h)",
        'scenario: topology.bottleneck.rate: missing, expected a rate such as "10 Mbit/s" '
        "(units: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)",
    ]


def test_all_mistakes_are_told_at_once():
    found = problems("duration=4", f"{NECK}.delay=x", "traffic.0.count=0", f"{NECK}.aqm.max_p=2")
    assert set(found) == {"duration", f"{NECK}.delay", "traffic.long.count", f"{NECK}.aqm.max_p"}


def test_of_very_many_mistakes_the_message_has_the_first():
    data = from_toml(SMALL).to_dict()
    data["traffic"] = [{"name": f"g{i}", "kind": "tcp", "count": 0} for i in range(1000)]
    with pytest.raises(ScenarioError) as refused:
        from_dict(data)
    assert len(refused.value.problems) == 1000
    lines = str(refused.value).splitlines()
    assert len(lines) == MOST_PROBLEMS + 1
    assert lines[-1] == f"scenario: {1000 - MOST_PROBLEMS} more problems"


def test_what_is_not_toml_is_told_with_its_line():
    with pytest.raises(ScenarioError, match=r"not TOML: .*line 2"):
        from_toml('name = "x"\nduration = 10 s\n')


@pytest.mark.parametrize("override", ["x", "=1", "a..b=1", ""])
def test_an_override_is_a_path_and_a_value(override: str):
    with pytest.raises(ScenarioError, match="expected PATH=VALUE"):
        from_toml(SMALL, [override])


@pytest.mark.parametrize(("text", "value"), [(".5", 0.5), ("+.5e-1", 0.05), ("1.", 1.0)])
def test_a_number_in_an_override_needs_no_digit_on_either_side_of_its_point(
    text: str, value: float
):
    aqm = from_toml(SMALL, ["topology.bottleneck.aqm=red", f"topology.bottleneck.aqm.max_p={text}"])
    assert aqm.to_dict()["topology"]["bottleneck"]["aqm"]["max_p"] == value


def test_an_override_may_give_a_setting_of_an_aqm_that_has_only_its_name():
    scenario = from_toml(
        SMALL, ["topology.bottleneck.aqm=codel", "topology.bottleneck.aqm.target=2 ms"]
    )
    aqm = scenario.to_dict()["topology"]["bottleneck"]["aqm"]
    assert aqm == {"name": "codel", "target": "2 ms"}


def test_an_override_must_lead_somewhere():
    assert "leads into" in problems("name.x=1")["name.x"]
    assert 'did you mean "long"?' in problems("traffic.lomg.count=1")["traffic.lomg.count"]
    assert "expected one of 0, 1" in problems("traffic.2.count=1")["traffic.2.count"]


def test_overrides_replace_single_values(small: Scenario):
    changed = with_overrides(
        small,
        [
            "topology.bottleneck.aqm.max_p=0.2",
            "topology.bottleneck.rate=5 Mbit/s",
            "traffic.long.count=7",
            "traffic.1.size=20 packets",
            'cuts=["2 s", "3 s"]',
            "transport.other.preset=rfc",
        ],
    )
    topology, (long, short) = changed.topology, changed.traffic
    assert isinstance(topology, Dumbbell)
    assert topology.bottleneck.aqm == Aqm.of(
        "red", min_th="10 packets", max_th="30 packets", max_p=0.2
    )
    assert topology.bottleneck.rate == Rate(5_000_000)
    assert isinstance(long, Tcp)
    assert long.count == 7
    assert isinstance(short, Poisson)
    assert short.size == Packets(20)
    assert changed.cuts == [Duration(2_000_000_000), Duration(3_000_000_000)]
    assert changed.transport["other"] == Transport.of("rfc")
    assert with_overrides(changed, []) == changed
    assert changed.hash != small.hash


def test_an_aqm_may_be_given_by_name_alone(small: Scenario):
    changed = with_overrides(small, ["topology.bottleneck.aqm=droptail"])
    assert changed.topology.bottleneck.aqm == Aqm("droptail")


def test_an_aqm_within_an_aqm_is_checked_and_kept(small: Scenario):
    aqm = 'topology.bottleneck.aqm={name="avq_inner",inner={name="red",max_p=%s}}'
    changed = with_overrides(small, [aqm % 0.2])
    assert changed.topology.bottleneck.aqm == Aqm.of(
        "avq_inner", inner={"name": "red", "max_p": 0.2}
    )
    assert from_toml(changed.to_toml()) == changed
    assert "expected a number, 0 to 1" in problems(aqm % 2)[f"{NECK}.aqm.inner.max_p"]


def test_a_scenario_built_in_python_is_the_one_of_the_file(small: Scenario):
    built = Scenario(
        name="Small",
        duration=Duration.parse("4 s"),
        warmup="1 s",
        replications=3,
        topology=Dumbbell(
            rtts=["40 ms", Duration(80_000_000)],
            access={"rate": "1 Gbit/s", "delay": "5 ms"},
            bottleneck=Queue(
                rate="10 Mbit/s",
                delay="5 ms",
                buffer="50 packets",
                aqm=Aqm.of("red", min_th="10 packets", max_th="30 packets"),
            ),
        ),
        transport={"default": Transport.of("ns2", ecn=True)},
        traffic=[
            Tcp(kind="tcp", name="long", count=5),
            Poisson(kind="poisson", name="short", rate=Frequency(5 * 10**9), size="10 packets"),
        ],
    )
    assert built == small
    assert built.hash == small.hash


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid_and_survives_being_written(path):
    scenario = load(path)
    assert from_toml(scenario.to_toml()) == scenario
    schema_validator().validate(tomllib.loads(path.read_text(encoding="utf-8")))
    schema_validator().validate(scenario.to_dict())


def test_the_schema_is_one_and_refuses_what_the_checks_refuse(small: Scenario):
    jsonschema.Draft202012Validator.check_schema(schema())
    for override in ({"duration": "4"}, {"seeds": 1}, {"traffic": []}):
        with pytest.raises(jsonschema.ValidationError):
            schema_validator().validate(small.to_dict() | override)


def test_the_schema_tells_units_ranges_defaults_and_sources():
    [red] = [each for each in schema()["$defs"]["Aqm"]["oneOf"] if each.get("title") == "red"]
    assert red["properties"]["max_p"]["maximum"] == 1
    assert red["properties"]["max_p"]["default"] == 0.1
    assert "Source: Floyd" in red["properties"]["max_p"]["description"]
    assert "packets" in red["properties"]["min_th"]["pattern"]
    tcp = schema()["$defs"]["Transport"]["properties"]
    assert tcp["min_rto"]["default"] == "1 s"
    assert "RFC 6298" in tcp["min_rto"]["description"]
