"""The CHOKeW paper: claims must be able to fail; measures from a record of every packet."""

import numpy as np
import pytest

import marqueue as package
from marqueue.papers import PAPERS
from marqueue.papers.chokew import experiment_6
from marqueue.papers.chokew.queue_shares import Recorded, overflow_share, queue_share, recorded
from marqueue.papers.chokew.setups import udp, under
from marqueue.papers.claims import read_claims
from marqueue.papers.quantity import Quantities
from marqueue.papers.verdict import judge
from marqueue.results import Result

PAPER = PAPERS["chokew"]
CLAIMS = {each.id: each for each in read_claims(PAPER.folder / "claims.toml")}
SHORT = ['duration="60 s"', 'cuts=["30 s"]']


def with_equal_weights() -> Quantities:
    """Experiment 6, short, with one weight for all levels at every ratio."""
    control = {
        scheme: package.run(
            under(scheme, [(1.0, 25), (experiment_6.EQUAL, 75)], overrides=SHORT),
            replications=2,
        )
        for scheme in experiment_6.COMPARED
    }
    runs = {
        experiment_6.name(scheme, ratio): run
        for scheme, run in control.items()
        for ratio in experiment_6.ALL
    }
    return experiment_6.measure(runs, PAPER.main_choice("6"))


def test_with_equal_weights_the_ratio_of_weights_makes_no_difference():
    assert judge(CLAIMS["fig6-ratio"], with_equal_weights()).outcome != "holds"


def test_a_scheme_that_leaves_a_flow_next_to_nothing_starves_it():
    claim = CLAIMS["fig4-chokew-starves-none"]
    part = PAPER.experiment("4")
    choice = PAPER.main_choice("4")
    runs = {"chokew": part.setups(choice)["rio-1"]}
    rio = part.measure({k: package.run(s, replications=1) for k, s in runs.items()}, choice)
    assert judge(claim, rio).outcome != "holds"


@pytest.fixture(scope="module")
def traced_run() -> Result:
    traced = [*SHORT, "topology.bottleneck.trace=true"]
    return package.run(under("chokew", {1.0: 20}, udp(2), overrides=traced), replications=1)


def test_recorded_packets_are_those_of_the_queue(traced_run: Result):
    everyone = Recorded(traced_run, 0)
    own, flows = everyone.of(["level 1", "udp"])
    assert flows == 22
    waiting = everyone.waiting(own)
    [window] = traced_run.link().windows(1)
    mean = np.arange(len(window.queue)) @ window.queue / window.seconds
    assert waiting == pytest.approx(mean, rel=1e-3)


def test_shares_of_all_flows_sum_to_the_queue(traced_run: Result):
    tcp, cbr = (
        queue_share(recorded(traced_run), "", [group]).values for group in ("level 1", "udp")
    )
    assert 20 * tcp + 2 * cbr == pytest.approx(np.ones((1, 1)))


def test_overflows_of_all_flows_are_those_of_the_link(traced_run: Result):
    [share] = overflow_share(recorded(traced_run), "", ["level 1", "udp"]).values[:, 0]
    windows = traced_run.link().windows()
    [merged] = windows
    assert share == pytest.approx(merged.drops["overflow"] / merged.arrivals)
