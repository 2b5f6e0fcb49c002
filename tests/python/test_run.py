"""Running from Python."""

import pytest

from marqueue import Scenario, ScenarioError, run, with_overrides
from marqueue._core import replication_seed
from marqueue.cli.console import progress_line
from marqueue.simulation.run import run_each


def test_a_result_tells_how_it_came_about(small: Scenario):
    provenance = run(small, seed=7, replications=2).provenance
    assert provenance.seed == provenance.scenario["seed"] == 7
    assert provenance.replications == provenance.scenario["replications"] == 2
    assert provenance.seeds == [replication_seed(7, 0), replication_seed(7, 1)]
    assert len(set(provenance.seeds)) == 2
    assert provenance.scenario_hash == with_overrides(small, ["seed=7", "replications=2"]).hash
    transport = provenance.transports["default"]
    assert transport["preset"] == "ns2"
    # Given, set by the preset, and left at its default.
    assert transport["values"]["ecn"] is True
    assert transport["values"]["min_rto"] == 0.2
    assert transport["values"]["dupthresh"] == 3.0
    assert provenance.circumstances.cpu_seconds > 0
    assert provenance.circumstances.wall_seconds > 0


def test_results_do_not_depend_on_how_many_run_at_a_time(small: Scenario):
    one, two = (run(small, jobs=jobs) for jobs in (1, 2))
    assert one.summary() == two.summary()
    assert all(one.tables[name].equals(two.tables[name]) for name in one.tables)


def test_progress_reaches_its_end(small: Scenario):
    told: list[tuple[float, float]] = []
    run(small, replications=2, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (8.0, 8.0)
    assert told == sorted(told)


def test_an_interrupt_stops_all_replications(small: Scenario):
    long = with_overrides(small, ["duration=100000 s", "sample=0 s"])

    def interrupt(done: float, total: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(long, progress=interrupt)


def test_bad_replacements_are_refused(small: Scenario):
    with pytest.raises(ScenarioError, match="replications: got 0, expected at least 1"):
        run(small, replications=0)


def test_progress_without_a_terminal_is_a_line_with_what_is_left():
    assert progress_line("Small", 0.4, 150.2) == "Small: 40% done, about 0:02:30 left"
    assert progress_line("Small", 0.0, None) == "Small: 0% done"


def test_several_scenarios_share_the_threads_and_keep_their_order(small: Scenario):
    others = [with_overrides(small, [f"traffic.long.count={n}"]) for n in (9, 1)]
    told: list[tuple[float, float]] = []
    results = run_each(others, jobs=2, progress=lambda done, total: told.append((done, total)))
    assert [each.summary() for each in results] == [run(each).summary() for each in others]
    assert told == sorted(told)
    assert told[-1] == (24.0, 24.0)
