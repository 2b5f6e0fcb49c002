"""What lateness can have changed in a live result, and when that makes it invalid."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marqueue.live.audit import MAX_RELEASE_ERROR, invalid_reasons, remarks
from marqueue.live.lateness import LARGEST_EFFECT, LONGEST_STOP, Effect, least_round_trip
from marqueue.scenario import compile, from_toml

ENDS = {end: {"no_memory": 0, "ce_sent": 0} for end in ("near", "far")}
PACKET = 12e-6
"""The time of a packet of 1500 bytes at 1 Gbit/s, s."""
NETWORK = """
name = "two paths"
duration = "1 s"
[topology]
kind = "dumbbell"
bottleneck = {rate = "10 Mbit/s", delay = "5 ms", buffer = "50 packets"}
rtts = ["18 ms", "40 ms"]
[[traffic]]
kind = "tcp"
"""


def audit(round_trip: float | None, **error: float) -> dict[str, Any]:
    errors = {"packets": 1, "mean": 1e-6, "p99": 1e-6, "p999": 1e-6} | error
    return {"release_error": errors, "round_trip": round_trip, **ENDS}


def test_packets_in_time_need_no_remark():
    each = audit(0.01, p99=MAX_RELEASE_ERROR * PACKET, p999=1.0)
    assert invalid_reasons(each, PACKET) == remarks(each, PACKET) == []


def test_jitter_that_is_small_beside_the_round_trip_is_weighed():
    """Both directions of a round trip of 10 ms are 15 us late: 0.3 percent."""
    each = audit(0.01, mean=15e-6, p99=91e-6, p999=176e-6)
    assert invalid_reasons(each, PACKET) == []
    [told] = remarks(each, PACKET)
    assert told.startswith("The 99th percentile of the release error is 91.0 us")
    assert "rates by 0.30%, mean queueing delays by 15.0 us" in told
    assert told.endswith("99th percentiles by 91.0 us.")


@pytest.mark.parametrize(
    ("round_trip", "error"),
    [
        (0.0, {}),
        (None, {}),
        (0.01, {"p999": 1.01 * LONGEST_STOP * 0.01}),
        (0.01, {"mean": 0.51 * LARGEST_EFFECT * 0.01}),
    ],
)
def test_what_cannot_be_weighed_or_is_large_makes_the_result_invalid(
    round_trip: float | None, error: dict[str, float]
):
    each = audit(round_trip, **{"p99": 91e-6, "p999": 176e-6, **error})
    [reason] = invalid_reasons(each, PACKET)
    assert "the machine did not keep up" in reason
    assert ("can have changed" in reason) == ("mean" in error)
    assert remarks(each, PACKET) == []


@given(st.floats(0, 1e-3), st.floats(0, 1e-2), st.floats(0, 1e-1), st.floats(1e-4, 1))
def test_a_result_is_invalid_or_has_a_remark_or_was_in_time(
    mean: float, p99: float, p999: float, round_trip: float
):
    each = audit(round_trip, mean=mean, p99=p99, p999=p999)
    said = len(invalid_reasons(each, PACKET)) + len(remarks(each, PACKET))
    assert said == (p99 > MAX_RELEASE_ERROR * PACKET)
    effect = Effect.of(each)
    if effect:
        assert effect.rate == pytest.approx(2 * mean / round_trip)


def test_the_shortest_path_there_and_back_counts():
    assert least_round_trip(compile(from_toml(NETWORK))) == pytest.approx(0.018)
