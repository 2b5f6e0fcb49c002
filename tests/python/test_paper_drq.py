"""The DRQ paper: optima of its set-ups, and claims with known verdicts."""

import numpy as np
import pytest

from conftest import check_verdicts
from marqueue.papers.drq.optimum import sharing
from marqueue.papers.drq.setups import CLASSES, SCHEMES, dumbbell, parking_lot, two_edges
from marqueue.theory.allocation.proportional_fairness import proportionally_fair

#: At C, Mcycles/s: the region and what a flow of each class gets there, Mbit/s (closed forms).
REGIONS = {
    10: ("CPU-limited", (1, 0.5, 0.25, 0.125)),
    25: ("jointly limited", (1.743, 1.166, 0.701, 0.390)),
    55: ("bandwidth-limited", (1, 1, 1, 1)),
}


@pytest.mark.parametrize("clock", REGIONS)
def test_dotted_lines_of_the_dumbbell_are_the_closed_forms(clock: int):
    region, rates = REGIONS[clock]
    for scheme in SCHEMES:
        best = proportionally_fair(sharing(dumbbell(scheme, clock)))
        assert best.region == region
        found = [best.rate(group) * 1e-6 for group in CLASSES]
        assert found == pytest.approx(rates, abs=6e-4)


def test_other_load_is_subtracted_from_capacities():
    less = {"bottleneck": 20e6, "bottleneck/cpu": 15e6}
    best = proportionally_fair(sharing(dumbbell("drq", 25), taken=less))
    half = proportionally_fair(sharing(dumbbell("drq", 10, rate="20 Mbit/s")))
    assert best.rates == pytest.approx(half.rates)


def test_weights_are_what_flows_have_more_of_and_delays_what_they_have_less_of():
    scenario = dumbbell("drq", 10)
    plain = sharing(scenario)
    [first, *_] = plain.flows
    twice = sharing(scenario, priorities={"0.25": 2.0}).flows[0]
    assert twice.weight == pytest.approx(2 * first.weight)
    # A wait of a round trip doubles it.
    tau = np.sqrt(1.5) * 4000 / first.weight
    late = sharing(scenario, waits={"bottleneck": tau / 2, "bottleneck/cpu": tau / 2}).flows[0]
    assert late.weight == pytest.approx(first.weight / 2)


def test_flows_that_cross_more_pay_more():
    best = proportionally_fair(sharing(parking_lot("drq", 40)))
    assert {"L1", "L2", "L3"} <= set(best.congested)
    assert best.rate("SG1") < best.rate("SG5")
    assert best.rate("SG1") < best.rate("SG7")


def test_each_edge_router_has_its_own_scheme():
    links = {link.name: link for link in two_edges(30, (10, 1), core=60, rtt=40).topology.links}
    for number, name in {"1": "drq", "2": "red"}.items():
        for end in ("IE", "EE"):
            link = links[end + number]
            assert link.aqm.name == link.cpu.aqm.name == name
    assert links["IE1"].cpu.clock == links["IE2"].cpu.clock
    assert links["L1"].cpu is None
    assert links["L1"].rate.base == links["L2"].rate.base == 60e6


#: What must come out of a single replication, whatever the seed.
MUST = {
    "liar": {"liar-gains": "holds"},
    "delay": {"delay-same": "holds", "delay-drr-dense-wait": "holds"},
}


@pytest.mark.parametrize("experiment", MUST)
def test_verdicts_that_do_not_depend_on_the_seed(experiment: str):
    check_verdicts("drq", experiment, MUST[experiment])
