"""Marking scaled with the number of flows: the queue it keeps, and what is told."""

import pytest

from marqueue import run
from marqueue.errors import ScenarioError
from marqueue.scenario import Scenario, from_toml, scenario_warnings
from small_scenario import SMALL

AQM = 'topology.bottleneck.aqm={{name="scaled", {}}}'


def scaled(params: str, *overrides: str) -> Scenario:
    return from_toml(SMALL, [AQM.format(params), *overrides])


def test_the_smaller_of_its_buffer_and_the_links_holds():
    # Nothing is marked below 1000 packets: the queue grows to 3 x 32^(2/5) = 12, or to what the
    # link has.
    never = 'curve="points:1000,0", flows=32, a=0.2, b=0.4, buffer="3 packets"'
    overrides = ["topology.bottleneck.signal='drop'", "traffic.0.count=20"]
    for link, most in (("100 packets", 12), ("7 packets", 7)):
        result = run(scaled(never, f"topology.bottleneck.buffer='{link}'", *overrides))
        assert result.to_arrow("series")["queue"].to_numpy().max() == most
        assert result.link().figures()["loss_ratio"].mean > 0


def test_exponents_outside_the_theorems_are_accepted_with_a_warning():
    assert not scenario_warnings(scaled('flows=32, buffer="1 packets"'))
    [said] = scenario_warnings(scaled('flows=32, a=0.4, buffer="1 packets"'))
    assert said == (
        "bottleneck: a = 0.4 and b = 0.5: that utilization goes to 1 and loss to 0 with the number "
        "of flows is shown for 0 < a < b < 1/2 (Eun and Wang 2008, Theorems 1 and 2)."
    )


def test_a_link_that_holds_less_than_the_scale_is_told_so():
    [said] = scenario_warnings(scaled("flows=1e6", "topology.bottleneck.buffer='50 packets'"))
    assert "holds 50 packets, less than the 757" in said


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ("3", 'got 3, expected a marking curve: "red:MIN:MAX:P"'),
        ("'linear'", 'got "linear", expected a marking curve: "red:MIN:MAX:P", "exp:AT:P" or'),
        ("'points:5,0;3,1'", "expected points in the order of X with P that does not fall"),
        ("'points:0,0.5'", "expected a probability of 0 at 0"),
    ],
)
def test_what_is_no_curve_is_refused_with_its_place(curve: str, expected: str):
    with pytest.raises(ScenarioError) as refused:
        scaled(f"curve={curve}")
    [problem] = refused.value.problems
    assert problem.path == "topology.bottleneck.aqm.curve"
    assert expected in problem.message
