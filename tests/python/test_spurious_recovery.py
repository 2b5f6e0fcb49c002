"""Preset ``linux`` takes a window reduction back that was spurious (docs/tcp.md)."""

import pytest

from marqueue import Result, from_toml, run

DUMBBELL = """
name = "One flow"
duration = "20 s"
warmup = "2 s"
replications = 2

[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "100 packets" }
access = { rate = "100 Mbit/s", delay = "5 ms" }
rtts = ["40.7 ms"]

[transport.default]
preset = "linux"

[[traffic]]
name = "long"
kind = "tcp"
count = 1
"""


def of(control: str, *overrides: str) -> Result:
    return run(from_toml(DUMBBELL, [f"transport.default.control={control}", *overrides]))


def retransmissions(result: Result) -> int:
    return int(sum(result.to_arrow("flows")["retransmits"].to_pylist()))


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_reordering_costs_no_window(control: str) -> None:
    link = "topology.bottleneck"
    overrides = (
        f"{link}.buffer=400 packets",
        f"{link}.rate=40 Mbit/s",
        f'{link}.reorder={{ probability = 0.01, delay = "5 ms" }}',
        "transport.default.max_window=100 packets",
    )
    for undo, full in (("true", True), ("false", False)):
        result = of(control, *overrides, f"transport.default.undo_spurious={undo}")
        utilization = result.summary()["measured"]["links"]["bottleneck"]["utilization"]["mean"]
        # A window of 100 packets, never reduced: 100 * 1500 B in 40.7 ms and its transmission.
        assert (utilization > 0.7) == full, utilization


@pytest.mark.parametrize("aqm", ["droptail", "red", "pie"])
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_without_reordering_nothing_is_taken_back(control: str, aqm: str) -> None:
    with_it, without = (
        of(control, f"topology.bottleneck.aqm={aqm}", f"transport.default.undo_spurious={undo}")
        for undo in ("true", "false")
    )
    assert retransmissions(with_it) > 0
    assert with_it.tables["flows"] == without.tables["flows"]
