"""Links whose sender waits for access to its medium: Wi-Fi and satellites in low Earth orbit.

Expected figures are formulas of the headers in ``crates/sim/src/medium``, and published limits."""

import re
from typing import Any

import pytest

from marqueue import from_dict, run
from marqueue.errors import ScenarioError
from marqueue.results import Result
from marqueue.scenario import Medium, Scenario, compile
from marqueue.theory.fluid.from_scenario import describe

CLEAR = {"model": "wifi", "cw_min": 0}
"""A Wi-Fi link without chance."""


def scenario(medium: Any, sent: str = "500 Mbit/s", **other: Any) -> Scenario:
    """Packets of 1500 bytes into a link; by default more than it can carry."""
    link = {"rate": "100 Mbit/s", "delay": "5 ms", "buffer": "200 packets", "medium": medium}
    return from_dict(
        {
            "name": "medium",
            "duration": other.pop("duration", "2 s"),
            "warmup": other.pop("warmup", "500 ms"),
            "replications": 1,
            "topology": {
                "kind": "dumbbell", "rtts": ["40 ms"], "access": {"rate": "10 Gbit/s"},
                "bottleneck": link | other,
            },
            "traffic": [{"kind": "cbr", "rate": sent, "packet": "1500 B", "jitter": "0 s"}],
        }
    )  # fmt: skip


def throughput(result: Result, seconds: float = 1.5) -> float:
    """Bit/s of packets that arrived in the measuring window."""
    return float(sum(f.delivered.sum() for f in result.flow_sets())) * 8 / seconds


def wifi_throughput(n: int, rate: float, error: float = 0.0, backoff: float = 67.5e-6) -> float:
    """Bit/s of 1500-byte packets, n to an access: the formula with the defaults of VHT."""
    symbols = -(-n * 1544 * 8 // (rate * 4e-6))
    access = 40e-6 + symbols * 4e-6 + 16e-6 + 32e-6 + 43e-6 + backoff
    return n * 12000 * (1 - error) / access


@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_wifi_carries_what_the_formula_says_for_each_size_of_an_aggregate(n: int) -> None:
    result = run(scenario({**CLEAR, "max_mpdus": f"{n} packets"}))
    # The window of 1.5 s begins and ends inside an aggregate.
    assert throughput(result) == pytest.approx(wifi_throughput(n, 1e8, backoff=0), abs=n * 16000)


def test_a_backoff_is_half_its_range_on_average() -> None:
    result = run(scenario({"model": "wifi", "max_mpdus": "1 packet"}))
    # 5000 accesses; a uniform backoff of 0 to 15 slots deviates by 41 us of the 322 us of an access.
    assert throughput(result) == pytest.approx(wifi_throughput(1, 1e8), rel=4 * 41 / 322 / 5000**0.5)


def test_bytes_and_time_limit_an_aggregate_too() -> None:
    # 65535 bytes are 42 MPDUs of 1544 bytes; 1 ms less 40 us at 100 Mbit/s is 12000 bytes: 7.
    assert throughput(run(scenario(CLEAR))) == pytest.approx(
        wifi_throughput(42, 1e8, backoff=0), rel=0.01
    )
    short = run(scenario({**CLEAR, "max_time": "1 ms"}))
    assert throughput(short) == pytest.approx(wifi_throughput(7, 1e8, backoff=0), rel=0.002)


def test_without_aggregation_a_fast_wifi_meets_the_limit_of_xiao_and_rosdahl() -> None:
    # Their 802.11a: preamble 20 us, DIFS 34 us, ACK 20 us, propagation 1 us each way, 1500 bytes.
    old = {
        "model": "wifi", "max_mpdus": "1 packet", "preamble": "21 us", "aifs": "34 us",
        "block_ack": "21 us", "mpdu_overhead": "0 B",
    }  # fmt: skip
    # A symbol of 4 us is left of the data at a rate without bound.
    slow = throughput(run(scenario(old, rate="100 Gbit/s")))
    assert 12000 / (1 / (slow / 12000) - 4e-6) == pytest.approx(75.24e6, rel=0.01)


@pytest.mark.parametrize("error", [0.1, 0.3])
def test_lost_mpdus_are_repeated_and_arrive_in_order(error: float) -> None:
    result = run(scenario({**CLEAR, "max_mpdus": "8 packets", "mpdu_error": error}))
    got = throughput(result)
    # The window waits for its first MPDU, so aggregates are shorter than the limit: less than the
    # formula, and more than an aggregate of one would carry.
    assert wifi_throughput(1, 1e8, error, 0) < got < wifi_throughput(8, 1e8, error, 0)
    # Below the capacity nothing is lost.
    clear = run(scenario({**CLEAR, "mpdu_error": error}, sent="20 Mbit/s"))
    assert throughput(clear) == pytest.approx(20e6, rel=0.005)


def test_contention_delays_a_lone_packet_by_its_mean() -> None:
    medium = {**CLEAR, "contention": "1 ms"}
    result = run(scenario(medium, sent="1 Mbit/s", duration="20 s"))
    # A packet every 12 ms. 1600 draws of an exponential time.
    delay = result.link("bottleneck").figures()["delay_mean"].mean
    assert delay == pytest.approx(1e-3, rel=4 / 1600**0.5)


LEO = {"model": "leo", "period": "1 s", "first": "1 s", "outage": "200 ms", "delay_spread": "0 s"}


def test_a_satellite_link_loses_the_outage_and_no_more() -> None:
    result = run(scenario(LEO, rate="10 Mbit/s", sent="20 Mbit/s", duration="11 s", warmup="1 s"))
    assert throughput(result, 10.0) == pytest.approx(8e6, rel=0.001)
    assert result.link("bottleneck").figures()["utilization"].mean == pytest.approx(1, rel=0.001)


def test_packets_wait_for_the_end_of_an_outage() -> None:
    medium = {**LEO, "period": "2 s"}
    result = run(scenario(medium, rate="10 Mbit/s", sent="1 Mbit/s", duration="9 s", warmup="1 s"))
    figures = result.link("bottleneck").figures()
    # A packet of each 12 ms: a tenth of all meets an outage, for up to 200 ms, and those behind it
    # leave at the rate of the link.
    assert figures["loss_ratio"].mean == 0
    assert 0.15 < figures["delay_p99"].mean <= 0.2
    assert figures["delay_p50"].mean < 1e-4


def test_the_same_seed_gives_the_same_run_on_any_number_of_threads() -> None:
    for medium in ({"model": "wifi", "mpdu_error": 0.1}, {"model": "leo", "rate_spread": 0.3}):
        one, two = (run(scenario(medium), threads=n) for n in (1, 2))
        assert throughput(one) == throughput(two)


@pytest.mark.parametrize(
    ("medium", "other", "place", "message"),
    [
        ("wimax", {}, "medium", "wifi"),
        ({"model": "leo", "outage": "20 s"}, {}, "medium", "less than the period"),
        ({"model": "wifi", "max_mpdus": "1.5 packets"}, {}, "medium", "whole"),
        ("wifi", {"schedule": [{"at": "1 s", "rate": "1 Mbit/s"}]}, "schedule", "beside medium"),
        ("wifi", {"delivery_trace": ["1 ms"]}, "delivery_trace", "beside medium"),
        ("wifi", {"aqm": "linux:fq_codel"}, "aqm", "of the simulator"),
    ],
)
def test_what_a_medium_cannot_be_is_refused_at_its_place(
    medium: Any, other: dict[str, Any], place: str, message: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"bottleneck\.{place}(?s:.*){re.escape(message)}"):
        compile(scenario(medium, **other))


def test_models_of_fluids_refuse_a_medium() -> None:
    with pytest.raises(ScenarioError, match=r"bottleneck\.medium"):
        describe(scenario("wifi"))


def test_a_medium_is_written_as_it_was_read() -> None:
    table = {"model": "leo", "outage": "100 ms"}
    assert Medium.read(table).table() == table
    assert Medium.of("leo", outage="100 ms") == Medium.read(table)
