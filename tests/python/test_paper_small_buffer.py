"""The small-buffer paper: measures of windows and marks, its two forms, and known verdicts."""

import numpy as np
import pytest
from scipy.stats import norm

import marqueue as package
from marqueue.ns2.continuous import CONTINUOUS
from marqueue.papers import PAPERS
from marqueue.papers.claims import read_claims
from marqueue.papers.quantity import Quantity, side_by_side, single
from marqueue.papers.small_buffer import experiment_4, setups, theorem_2
from marqueue.papers.small_buffer.experiment_8 import LINK
from marqueue.papers.small_buffer.measures import distance_from_normal, fall, marked_by_clt
from marqueue.papers.verdict import judge
from marqueue.scenario import compile, scenario_warnings

PAPER = PAPERS["small-buffer"]


@pytest.mark.parametrize("std", [20.0, 500.0])
def test_marks_by_the_clt_are_the_integral_over_the_gaussian(std: float):
    # Of all that a Gaussian draws, what is above 0 and within the buffer is marked by the curve.
    mean, flows = -10.0, 200
    q = norm(mean, std).ppf((np.arange(100_000) + 0.5) / 100_000)
    q = q[(q > 0) & (q < 12 * flows**0.3)]
    sampled = np.sum(1 - 0.8 ** (q / (10 * flows**0.2))) / 100_000
    assert marked_by_clt("EXP", flows, 0.2, mean, std) == pytest.approx(sampled, rel=1e-3)


def test_the_distance_from_a_gaussian_is_that_of_distributions():
    middle = (np.arange(2000) + 0.5) / 2000
    assert distance_from_normal(norm(1400, 48).ppf(middle)) < 0.002
    # Two values: half of all at -1, where the Gaussian has 16%.
    assert distance_from_normal(np.array([-1.0, 1.0] * 100)) == pytest.approx(0.5 - norm.cdf(-1))


def test_places_may_have_fewer_replications():
    both = side_by_side({1.0: single("x", "", [1, 2, 3]), 9.0: single("x", "", [5, 7])}, "N")
    assert [(e.mean, e.n) for e in both.estimates] == [(2.0, 3), (6.0, 2)]
    ratio = fall(Quantity("x", "", both.values, "", "N", both.places), 1.0, 9.0)
    assert ratio.values[:, 0].tolist() == [5.0, 3.5]


def test_the_full_form_goes_on_to_a_hundred_thousand_flows():
    part, choice = PAPER.experiment("4"), PAPER.main_choice("4")
    quick, more = part.setups(choice), part.full(choice)
    assert not set(quick) & set(more)
    flows = {each.traffic[0].count: each.replications for each in more.values()}
    assert flows == setups.MORE
    assert max(each.traffic[0].count for each in quick.values()) == 800


@pytest.mark.parametrize("number", PAPER.experiments)
def test_the_scale_has_its_buffer_and_the_theorems_their_exponents(number: str):
    part, choice = PAPER.experiment(number), PAPER.main_choice(number)
    every = {**part.setups(choice), **part.full(choice)}
    assert not [said for each in every.values() for said in scenario_warnings(each)]
    if number == "8":
        [link] = [each for each in compile(every["EXP-200"])["links"] if each["name"] == LINK]
        aqm = link["queue"]["policy"]["params"]
        assert (aqm["flows"], aqm["a"], aqm["b"]) == (400, 0.2, 0.3)


def test_time_above_n_to_the_0_3_counts_whole_packets():
    scenario = setups.dumbbell("RED1", 50, PAPER.main_choice("4"))
    run = package.run(scenario, replications=1, seed=7)
    [window] = run.link().windows()
    # 50^0.3 is 3.23: four packets are above, three are not.
    below = sum(window.queue[:4]) / window.seconds
    assert 0.1 < below < 0.9
    assert theorem_2.above(run, "RED1", 50).values[0, 0] == pytest.approx(1 - below)


def test_in_the_chain_with_5_packets_a_flow_theorem_2_fails_with_overload():
    found = theorem_2.of_chain("EXP")
    [tail], [marks] = (found[f"chain.{name}.EXP"].values for name in ("tail", "marks"))
    assert theorem_2.CT == 5
    # Flows in step fill the pipe in one round trip of four, in which all packets are marked.
    assert tail[-1] == pytest.approx(0.25, abs=0.01)
    assert marks[-1] > 0.25
    # Unsynchronized, a window of CT is halved once in CT/2 round trips: 2/CT^2 of the packets.
    assert marks[2] == pytest.approx(2 / theorem_2.CT**2, rel=0.15)


#: Larger exponents with many flows, of which none of these claims speaks.
NOT_NEEDED = {setups.named(s, n, 0.3) for s in experiment_4.OF_TWO for n in (200, 800)}

#: What must come out of a single replication, whatever the seed.
MUST = {
    "fig4-delay-falls": "holds",
    "fig4-jitter-falls": "holds",
    "fig4-sharply": "holds",
    "fig4-red2-loss": "holds",
    "fig6-independent": "fails",
    "fig6-mean": "fails",
    "fig9-arrivals": "holds",
    "fig9-measured-mean": "holds",
    "synchronized": "holds",
}


def test_verdicts_that_do_not_depend_on_the_seed():
    choice = PAPER.main_choice("4")
    runs = {
        name: package.run(scenario, replications=1, seed=7)
        for name, scenario in experiment_4.setups(choice).items()
        if name not in NOT_NEEDED
    }
    quantities = experiment_4.measure(runs, choice)
    claims = {each.id: each for each in read_claims(PAPER.folder / "claims.toml")}
    assert {name: judge(claims[name], quantities).outcome for name in MUST} == MUST


def test_both_simulators_get_one_round_trip_time_for_each_flow():
    for case in CONTINUOUS:
        counts = [each["kind"]["tcp"]["count"] for each in compile(case.scenario())["traffic"]]
        assert counts == [1] * case.flows, case.name
        assert len(set(case.rtts)) == case.flows, case.name
        assert min(case.rtts) >= 2 * (case.delay + case.far)
