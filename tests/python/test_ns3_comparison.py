"""The comparison with ns-3: what is stored is of the dumbbells that are compared, and errors are
detected."""

import dataclasses

import pytest

from marqueue.ns3 import simulator
from marqueue.ns3.case import CONTROLS, pfifo
from marqueue.ns3.matrix import EXPLAINED, MATRIX, QUICK, UNEXPLAINED
from marqueue.ns3.measured import UNITS, marqueue_figures, ns3_figures, stored
from marqueue.validation import RUNGS, Effort, TaskRunner, climb
from marqueue.validation.ns3_comparison import checks, compare

CASES = {case.name: case for case in MATRIX}
QUEUES = {"FifoQueueDisc", "CoDelQueueDisc", "FqCoDelQueueDisc", "PieQueueDisc", "RedQueueDisc"}


def test_the_matrix():
    assert len(CASES) == len(MATRIX) >= 70
    assert {*QUICK, *EXPLAINED, *UNEXPLAINED} <= set(CASES)
    assert not set(EXPLAINED) & set(UNEXPLAINED)
    for control in CONTROLS:
        of = [case for case in MATRIX if case.control == control]
        assert {case.queue.ns3 for case in of} == QUEUES
        assert {case.flows for case in of} == {1, 4, 16, 60}
    fast = [case for case in MATRIX if case.rate == 50_000_000]
    assert {case.queue.ns3 for case in fast} == QUEUES
    for queue in QUEUES - {"FifoQueueDisc"}:
        assert {case.ecn for case in MATRIX if case.queue.ns3 == queue} == {True, False}


@pytest.mark.parametrize("name", CASES)
def test_what_is_stored_is_of_this_dumbbell(name: str):
    """Otherwise `make reference-ns3` measures it again."""
    entry = stored()["cases"][name]
    assert entry["seed 1"] == CASES[name].ns3_command(1)
    assert min(len(entry[figure]) for figure in UNITS) >= CASES[name].seeds


def test_the_quick_form_agrees():
    ladder = climb([RUNGS["ns3"]], Effort.QUICK)
    assert len(ladder.rungs[0].checks) >= 5 * len(QUICK) >= 30
    assert set(ladder.verdicts) == {"pass"}


def test_a_queue_that_differs_from_ns3s_is_detected():
    """60 packets in ns-3, 40 here."""
    case = CASES["reno, pfifo, 16 flows, 10 Mbit/s"]
    shorter = dataclasses.replace(case, queue=pfifo(40))
    verdicts = {
        each.what: each.verdict
        for each in compare(
            case, marqueue_figures(TaskRunner().run(shorter.scenario(4))), ns3_figures(case)
        )
    }
    assert verdicts[f"{case.name}: delay_mean"] == "fail"
    assert verdicts[f"{case.name}: delay_p99"] == "fail"
    assert verdicts[f"{case.name}: utilization"] == "pass"


def test_an_unexplained_disagreement_is_called_so():
    [first, *_] = checks(TaskRunner(), CASES[QUICK[0]], seeds=2)
    far = dataclasses.replace(first, expected=first.figure.mean + 10 * first.tolerance + 1.0)
    assert far.verdict == "fail"
    known = dataclasses.replace(far, unexplained="nothing is known")
    assert known.verdict == known.as_dict()["verdict"] == "unexplained"
    assert known.as_dict()["unexplained"] == "nothing is known"


@pytest.mark.skipif(not simulator.installed(), reason=f"needs {simulator.INSTALL}")
def test_ns3_measures_what_is_stored(tmp_path):
    case = CASES["reno, red ecn, 4 flows, 10 Mbit/s"]
    run = simulator.build(tmp_path).run(case, seed=1)
    entry = stored()["cases"][case.name]
    assert {name: float(f"{run[name]:.6g}") for name in UNITS} == {
        name: entry[name][0] for name in UNITS
    }
