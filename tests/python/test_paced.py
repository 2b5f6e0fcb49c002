"""Paced flows in scenarios: what is accepted, what is refused, what comes out."""

import pytest

from conftest import EXAMPLES, schema_validator
from marqueue import run
from marqueue.errors import ScenarioError
from marqueue.scenario import RateLaw, compile, from_toml, load
from small_scenario import SMALL

PACED = 'traffic=[{{kind="paced", rate="1 Mbit/s", {}}}]'


def test_a_paced_group_becomes_flows_of_each_class():
    control = 'control={name="aimd", alpha="5 /s", interval="200 ms"}'
    plan = compile(from_toml(SMALL, [PACED.format(f"count=3, {control}")]))
    near, far = plan["traffic"]
    assert (near["name"], far["name"]) == ("paced/40 ms", "paced/80 ms")
    paced = near["kind"]["paced"]
    assert (paced["count"], far["kind"]["paced"]["count"]) == (2, 1)
    assert paced["control"] == {"name": "aimd", "params": {"alpha": 5.0, "interval": 0.2}}
    assert (paced["rate"], paced["packet"], paced["ecn"]) == (10**6, 1000, False)
    assert plan["links"][0]["queue"]["mean_packet"] == 1000


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ('control="amid"', "control", 'did you mean "aimd"?'),
        ("control=3", "control", "got 3, expected the name of a rate law or a table with it"),
        ("control={name='aimd', beta=1}", "control.beta", "expected a number, 0.01 to 0.99"),
        ("control={name='aimd', alpha='1 ms'}", "control.alpha", 'got "1 ms", expected'),
        ("packet='70 kB'", "packet", "expected 1 to 65535 bytes"),
        ("ecn='yes'", "ecn", 'got "yes", expected true or false'),
    ],
)
def test_a_mistake_is_told_with_its_place(given: str, path: str, said: str):
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [PACED.format(given)]))
    [problem] = refused.value.problems
    assert problem.path == f"traffic.0.{path}"
    assert said in problem.message


def test_a_paced_group_reads_back_as_it_was_and_fits_the_schema():
    scenario = from_toml(SMALL, [PACED.format("control={name='aimd', alpha='5 /s'}")])
    assert from_toml(scenario.to_toml()) == scenario
    schema_validator().validate(scenario.to_dict())
    assert RateLaw.of("aimd", beta=0.8).table() == {"name": "aimd", "beta": 0.8}


def test_paced_flows_share_a_link_in_equal_parts_without_losses():
    [path] = [path for path in EXAMPLES if path.stem == "paced"]
    result = run(load(path))
    flows = result.traffic()
    assert flows["jain"].mean > 0.98
    assert flows["goodput"].mean > 6e6
    link = result.link().figures()
    assert link["drops"].mean == 0 < link["marks"].mean
    totals = result.run_totals()
    assert totals["ecn_cuts"].mean > 10
    assert totals["retransmits"].mean == 0
