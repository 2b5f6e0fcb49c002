"""One run on several threads: the same bytes, and a word where that cannot be."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import marqueue
from conftest import EXAMPLES
from marqueue import _core
from marqueue.cli import app
from marqueue.papers import PAPERS
from marqueue.papers.paper import theory_alone
from marqueue.scenario import Scenario, compile, from_dict, load
from marqueue.simulation import replication_threads
from marqueue.simulation.replication_threads import threads_of

PATHS = {path.stem: path for path in EXAMPLES if not path.stem.startswith("linux-")}
"""Example scenarios without kernels."""

SECOND = 1_000_000_000
LONGEST = 4 * SECOND
"""Nanoseconds of each scenario that are run after its last traffic has begun."""


def shortened(scenario: Scenario, longest: int = LONGEST) -> str:
    """The plan of a scenario, cut off after so many nanoseconds."""
    plan = compile(scenario)
    plan["duration"] = min(plan["duration"], longest)
    plan["boundaries"] = [edge for edge in plan["boundaries"] if edge < plan["duration"]]
    return json.dumps(plan)


def latest_start(scenario: Scenario) -> int:
    """When the last traffic of a scenario begins, ns."""
    kinds = (kind for traffic in compile(scenario)["traffic"] for kind in traffic["kind"].values())
    return max((kind["start"] for kind in kinds), default=0)


@pytest.mark.parametrize("name", PATHS)
def test_a_scenario_gives_the_same_on_any_number_of_threads(name: str) -> None:
    scenario = load(PATHS[name])
    plan = shortened(scenario, latest_start(scenario) + LONGEST)
    assert len({_core.digest(plan, 1, threads=threads) for threads in (1, 2, 3, 4)}) == 1


@pytest.mark.parametrize("key", PAPERS)
def test_experiments_of_papers_give_the_same_on_any_number_of_threads(key: str) -> None:
    """Every fourth set-up of each experiment, a second of it."""
    paper = PAPERS[key]
    for number in paper.experiments:
        setups = paper.experiment(number).setups
        if setups is theory_alone:
            continue
        scenarios = list(setups(paper.main_choice(number)).values())
        for scenario in scenarios[::4]:
            plan = shortened(scenario, SECOND)
            digests = {_core.digest(plan, 1, threads=threads) for threads in (1, 2, 3, 4)}
            assert len(digests) == 1, f"experiment {number}, {scenario.name}"


def test_enough_scenarios_have_several_threads() -> None:
    plans = [shortened(load(PATHS[name])) for name in ("star", "parking-lot", "mkc")]
    assert [_core.threads_for(plan, 4) for plan in plans] == [(4, None)] * 3
    # Their flows end, or arrive during the run.
    plans = [
        shortened(load(PATHS[name])) for name in ("first", "dumbbell", "access-link", "incast")
    ]
    assert all(_core.threads_for(plan, 2) == (2, None) for plan in plans)


def test_threads_do_not_change_a_result_and_are_refused_with_a_reason(tmp_path: Path) -> None:
    scenario = marqueue.load(PATHS["parking-lot"])
    alone, together = (
        marqueue.run(scenario, replications=1, jobs=1, threads=threads) for threads in (1, 2)
    )
    assert alone.summary() == together.summary()
    line = ["run", str(PATHS["media"]), "--threads", "2", "--out", str(tmp_path / "media")]
    told = CliRunner().invoke(app, line)
    assert told.exit_code == 0
    assert "one thread, since there are media flows" in told.stderr


def test_few_packets_between_two_meetings_do_not_pay() -> None:
    assert _core.threads_that_pay(shortened(load(PATHS["parking-lot"])), 2) == 1


def ring(nodes: int, delay: str) -> str:
    """The plan of a ring of slow links with flows over five of them."""
    topology = {
        "kind": "graph",
        "links": [
            {"name": f"{i}", "from": f"n{i}", "to": f"n{(i + 1) % nodes}", "rate": "10 Mbit/s"}
            for i in range(nodes)
        ],
        "classes": [
            {"name": f"c{i}", "from": f"n{i}", "to": f"n{(i + 5) % nodes}"} for i in range(nodes)
        ],
        "delay": delay,
        "buffer": "50 ms",
    }
    traffic = [{"kind": "tcp", "count": 4 * nodes}]
    scenario = {"name": "ring", "duration": "1 s", "topology": topology, "traffic": traffic}
    return shortened(from_dict(scenario))


def test_all_queues_of_a_network_count() -> None:
    """A queue lets 8 packets through in 10 ms, and 100 queues 800."""
    assert _core.threads_that_pay(ring(100, "10 ms"), 2) == 2
    assert _core.threads_that_pay(ring(100, "1 ms"), 2) == 1
    assert _core.threads_that_pay(ring(8, "10 ms"), 2) == 1


def test_fewer_threads_pay_where_many_do_not() -> None:
    plan = ring(100, "6 ms")
    assert _core.threads_for(plan, 16)[0] == 16
    assert 1 < _core.threads_that_pay(plan, 16) < 16


@pytest.fixture
def pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A plan that is faster on two threads, where there are two processors with nothing to do."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    says_running(1, tmp_path, monkeypatch)
    changes = ["traffic.long.count=1000", "topology.bottleneck.rate=1 Gbit/s"]
    plan = shortened(load(PATHS["dumbbell"], changes))
    assert _core.threads_that_pay(plan, 2) == 2
    return plan


def says_running(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says that so many threads run, and that more did before."""
    (path := tmp_path / "loadavg").write_text(f"7.00 7.00 7.00 {threads}/99 1\n")
    monkeypatch.setattr(replication_threads, "LOAD", path)


def test_what_ran_before_leaves_a_replication_two_threads(pays: str) -> None:
    assert threads_of(pays, 1, None, None) == 2


def test_what_runs_beside_leaves_it_one(
    pays: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says_running(2, tmp_path, monkeypatch)
    assert threads_of(pays, 1, None, None) == 1
    assert threads_of(pays, 1, None, 2) == 2, "they were asked for"


def test_it_has_one_where_there_is_no_memory_for_two(
    pays: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication_threads, "free_bytes", lambda: 1e6)
    assert threads_of(pays, 1, None, None) == 1


def test_replications_come_before_threads(pays: str) -> None:
    assert threads_of(pays, 2, None, None) == 1
    assert threads_of(pays, 1, 1, None) == 1, "one job was asked for, so one processor"
