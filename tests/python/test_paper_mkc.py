"""The MKC paper: measures of rates, fixed points of its set-ups, and claims with known verdicts."""

from itertools import pairwise

import numpy as np
import pytest

import marqueue as package
from conftest import check_verdicts
from marqueue.papers import PAPERS
from marqueue.papers.mkc import experiment_fairness as fairness
from marqueue.papers.mkc.experiment_3 import CAPACITY, OMEGA, ROUTES, with_losses
from marqueue.papers.mkc.measures import Rate, total
from marqueue.papers.mkc.random_routes import Topology, at_random, parking_lot


def rate(t: list[float], value: list[float], end: float = 10.0) -> Rate:
    return Rate(np.array(t), np.array(value), end)


def test_a_rate_is_piecewise_constant():
    x = rate([1.0, 2.0, 4.0], [3.0, 5.0, 4.0])
    assert x.mean(1.5, 4.5) == pytest.approx((0.5 * 3 + 2 * 5 + 0.5 * 4) / 3)
    assert x.mean(0.0, 2.0) == 3.0  # from where it starts
    assert x.fall == 1.0
    assert x.within(0.0, 4.0).fall == 0.0


def test_a_condition_ends_with_its_last_value():
    x = rate([1.0, 2.0, 4.0], [3.0, 5.0, 4.0])
    assert x.since(x.value > 4.5) == 3.0
    assert x.since(x.value > 6) == 0.0
    assert x.since(x.value > 0) == 9.0


def test_sums_begin_with_the_first_rate():
    both = total([rate([0.0, 2.0], [1.0, 2.0]), rate([1.0, 2.0], [10.0, 20.0])])
    assert both.t.tolist() == [0, 1, 2]
    assert both.value.tolist() == [1, 11, 22]


def test_with_losses_upstream_each_flow_pays_omega_for_what_links_see():
    x1, x2 = with_losses()
    left = x2 * CAPACITY[1] / (x1 + x2)
    prices = 1 - np.array(CAPACITY) / [x1, x1 + x2, left, min(left, CAPACITY[2])]
    paid = [sum(prices[j] for j in route) for route in ROUTES]
    assert [x1 * paid[0], x2 * paid[1]] == pytest.approx([OMEGA, OMEGA])


def test_without_upstream_links_losses_change_nothing():
    one = Topology(ends=[(0, 1)], capacity=[10.0], routes=[[0]] * 4)
    assert one.with_losses(0.1, 0.5) == pytest.approx([10 / 4 + 0.1 / 0.5] * 4)


@pytest.mark.parametrize("topology", [parking_lot(), at_random(1), at_random(2), at_random(7)])
def test_networks_are_walks_on_links_that_are_all_used(topology: Topology):
    for route in topology.routes:
        ends = [topology.ends[j] for j in route]
        assert all(a[1] == b[0] for a, b in pairwise(ends))
    used = {j for route in topology.routes for j in route}
    assert used == set(range(len(topology.ends))) == set(range(len(topology.capacity)))


#: What must come out of a single replication, whatever the seed.
MUST = {
    "3": {"fig3-rates": "holds", "fig3-lemma-1": "holds", "fig3-packets": "fails"},
    "12": {"fig12-settles": "holds", "fig12-fair": "holds"},
    "beyond": {
        "beyond-one-queue": "holds",
        "beyond-two-queues": "holds",
        "beyond-adaptive": "fails",
    },
}


@pytest.mark.parametrize("experiment", MUST)
def test_verdicts_that_do_not_depend_on_the_seed(experiment: str):
    check_verdicts("mkc", experiment, MUST[experiment])


def test_where_prices_are_above_their_noise_rates_are_max_min_fair():
    name = fairness.name("mkc_lossfree", "parking lot", "fine")
    run = package.run(
        fairness.setups(PAPERS["mkc"].main_choice("fairness"))[name], replications=1, seed=7
    )
    topology, grain = fairness.TOPOLOGIES["parking lot"], fairness.GRAINS["fine"]
    ratio = fairness.sent(run) / fairness.expected("mkc_lossfree", topology, grain)
    assert ratio == pytest.approx(np.ones_like(ratio), abs=0.02)
