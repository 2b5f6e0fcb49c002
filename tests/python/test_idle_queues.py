"""A queue behind access links that are not faster than its own link never builds up: the command
says so."""

from collections.abc import Sequence

import pytest

from marqueue import from_toml, run
from marqueue.scenario import Scenario, scenario_warnings

GIGABIT = """
name = "gigabit"
duration = "2 s"
warmup = "1 s"
replications = 1
[topology]
kind = "dumbbell"
rtts = ["10 ms"]
[topology.bottleneck]
rate = "1 Gbit/s"
delay = "1 ms"
buffer = "100 packets"
aqm = "red"
[[traffic]]
name = "long"
kind = "tcp"
count = 20
"""


def gigabit(*changes: str) -> Scenario:
    return from_toml(GIGABIT, changes)


def longest_queue(scenario: Scenario) -> float:
    """Packets, of all samples."""
    queue = run(scenario).tables["series"]["queue"]
    return float(max(queue.to_pylist()))


def test_it_is_said_and_true() -> None:
    [said] = scenario_warnings(gigabit())
    assert said.startswith(
        "bottleneck: no queue builds up here, because packets come over 10 ms/source with 1 Gbit/s"
    )
    assert longest_queue(gigabit()) == 0


@pytest.mark.parametrize(
    "changes",
    [
        ["topology.access.rate=2 Gbit/s"],
        ["topology.bottleneck.rate=900 Mbit/s"],
        ['topology.rtts=["10 ms", "20 ms"]'],
        ["topology.access.per_flow=true"],
    ],
)
def test_with_more_than_its_own_rate_before_it_a_queue_builds_up(changes: Sequence[str]) -> None:
    assert not scenario_warnings(gigabit(*changes))
    assert longest_queue(gigabit(*changes)) > 0


def test_a_rate_that_changes_is_not_judged() -> None:
    changes = ['topology.bottleneck.schedule=[{at = "1 s", rate = "100 Mbit/s"}]']
    assert not scenario_warnings(gigabit(*changes))
