"""What error messages suggest: names of other tools, units, similar algorithms, paths by name."""

import re
from pathlib import Path

import pytest

from marqueue.errors import ScenarioError
from marqueue.errors.foreign_names import NAMES, RELATIVES, UNITS
from marqueue.scenario import from_toml, load
from marqueue.scenario.parameters import aqms
from marqueue.scenario.reference import DIMENSIONS, sections
from small_scenario import SMALL

NECK = "topology.bottleneck"


def said(*overrides: str) -> str:
    """All that is said of the small scenario with these replaced."""
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, overrides)
    return str(refused.value)


@pytest.mark.parametrize(
    ("aqm", "key", "meant"),
    [
        ("pie", "target", "delay_ref"),
        ("pie", "interval", "t_update"),
        ("pie", "QueueDelayReference", "delay_ref"),
        ("pie", "Tupdate", "t_update"),
        ("pie", "dq_rate_estimator", "delay_estimate"),
        ("pie", "UseDerandomization", "derandomization"),
        ("codel", "CeThreshold", "ce_threshold"),
        ("pi", "target", "q_ref"),
        ("rem", "interval", "period"),
        ("avq", "target", "gamma"),
        ("gkvq", "utilization", "theta"),
        ("codel", "delay_ref", "target"),
        ("red", "thresh", "min_th"),
        ("red", "MaxTh", "max_th"),
        ("red", "maxp", "max_p"),
        ("red", "probability", "max_p"),
        ("red", "QW", "w_q"),
        ("rio", "thresh", "out_min_th"),
        ("fq_codel", "flows", "queues"),
        ("sfq", "divisor", "queues"),
    ],
)
def test_a_parameter_by_the_name_of_another_tool_is_recognised(aqm: str, key: str, meant: str):
    message = said(f'{NECK}.aqm={{name="{aqm}",{key}=1}}')
    assert message.count("did you mean") == 1
    assert message.endswith(f'did you mean "{meant}"?')


@pytest.mark.parametrize(
    ("key", "meant"),
    [("limit", "buffer"), ("ecn", "signal"), ("MeanPktSize", "packet"), ("bandwidth", "rate")],
)
@pytest.mark.parametrize("aqm", ["red", "codel", "droptail"])
def test_what_is_a_key_of_the_link_here_is_not_sought_in_the_aqm(aqm: str, key: str, meant: str):
    message = said(f'{NECK}.aqm={{name="{aqm}",{key}=1}}')
    assert message.endswith(f'did you mean "{meant}" of the link?')
    assert said(f"{NECK}.{key}=1").endswith(f'did you mean "{meant}"?')


def test_an_aqm_without_parameters_says_so():
    message = said(f'{NECK}.aqm={{name="droptail",delay_ref="5 ms"}}')
    assert message.endswith("aqm.delay_ref: unknown key, expected none: droptail has no parameters")


def test_what_is_not_there_is_answered_with_its_nearest_kin():
    kin = '"wred" is not available, the most similar is "rio"'
    message = said(f"{NECK}.aqm=wred")
    assert message.endswith(kin)
    assert "did you mean" not in message
    assert said(f"{NECK}.aqm=pfifo").endswith('did you mean "droptail"?')


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        (f"{NECK}.rate=50 Mbps", "50 Mbit/s"),
        (f"{NECK}.rate=50mbit", "50 Mbit/s"),
        (f"{NECK}.rate=1.5 gbit/s", "1.5 Gbit/s"),
        (f"{NECK}.delay=5 msec", "5 ms"),
        (f"{NECK}.delay=5 µs", "5 us"),
        (f"{NECK}.buffer=100 pkts", "100 packets"),
        (f"{NECK}.buffer=150 KB", "150 kB"),
        (f"{NECK}.aqm.min_th=5 p", "5 packets"),
        ("warmup=2 sec", "2 s"),
        ("traffic.short.rate=5 pps", "5 /s"),
    ],
)
def test_a_unit_of_another_tool_is_recognised(override: str, meant: str):
    message = said(override)
    assert message.endswith(f'did you mean "{meant}"?')
    accepted = override.partition("=")[0] + "=" + meant
    assert from_toml(SMALL, [accepted])


def test_a_unit_that_means_nothing_is_not_guessed():
    assert "did you mean" not in said(f"{NECK}.rate=50 furlongs")


def test_every_name_that_is_suggested_exists():
    keys = {key.name for section in sections() for key in section.keys}
    laws = set(next(k for s in sections() for k in s.keys if k.name == "control").choices)
    names = keys | set(aqms()) | laws | {"reno"}
    for word, meant in NAMES.items():
        assert word == re.sub(r"[^a-z0-9]", "", word), word
        assert set(meant) <= names, word
    assert set(RELATIVES.values()) <= set(aqms()) | {"reno", "cubic"}
    assert not set(RELATIVES) & set(aqms())
    assert set(UNITS.values()) <= {unit for each in DIMENSIONS.values() for unit in each.units}


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("traffic.1.packet=1", "traffic.short.packet"),
        ("traffic.0.count=0", "traffic.long.count"),
        ("traffic.0.start=9 s", "traffic.long.start"),
    ],
)
def test_a_group_is_called_by_its_name_as_overrides_take_it(override: str, path: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, [override])
    [problem] = refused.value.problems
    assert problem.path == path
    with pytest.raises(ScenarioError) as again:
        from_toml(SMALL, [f"{path}={override.partition('=')[2]}"])
    assert again.value.problems == refused.value.problems


@pytest.mark.parametrize("name", ["a.b", "a=b", "7", "short", " long"])
def test_a_group_whose_name_does_not_lead_to_it_is_called_by_its_number(name: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, [f"traffic.0.name='{name}'", "traffic.0.count=0"])
    assert "traffic.0.count" in {problem.path for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[topology.bottleneck]\n[topology.bottleneck]\n", "declare topology.bottleneck twice"),
        ('["a b".c]\n["a b".c]\n', 'declare "a b".c twice'),
        ("[a]\nrate = 1\nrate = 2\n\n[b]\n", "set rate again, it has a value (at line 3"),
        ("seed = 1\nseed = 2", "set seed again, it has a value"),
        ("a = {b = 1}\na.c = 2\n", "finished table or list a "),
    ],
)
def test_what_is_wrong_with_toml_is_told_with_keys_as_they_are_written(text: str, message: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(text)
    assert message in str(refused.value)
    assert "('" not in str(refused.value)


def test_a_byte_order_mark_is_accepted(tmp_path: Path, marqueue):
    path = tmp_path / "bom.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert load(path) == from_toml(SMALL)
    done = marqueue("run", "bom.toml", "-r", "1", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
