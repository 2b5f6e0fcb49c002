"""Links whose sender waits for access to its medium: Wi-Fi, cable, 5G and satellites.

``crates/sim/tests/medium.rs`` checks the models; here are scenarios that name them."""

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


def scenario(medium: Any, **other: Any) -> Scenario:
    """More packets of 1500 bytes than a link can carry."""
    link = {"rate": "100 Mbit/s", "delay": "5 ms", "buffer": "200 packets", "medium": medium}
    return from_dict(
        {
            "name": "medium",
            "duration": "2 s",
            "warmup": "500 ms",
            "replications": 1,
            "topology": {
                "kind": "dumbbell", "rtts": ["40 ms"], "access": {"rate": "10 Gbit/s"},
                "bottleneck": link | other,
            },
            "traffic": [{"kind": "cbr", "rate": "500 Mbit/s", "packet": "1500 B", "jitter": "0 s"}],
        }
    )  # fmt: skip


def throughput(result: Result) -> float:
    """Bit/s of packets that arrived in the measuring window."""
    return float(sum(f.delivered.sum() for f in result.flow_sets())) * 8 / 1.5


def wifi_throughput(n: int, rate: float) -> float:
    """Bit/s of 1500-byte packets, n to an access without backoff, with the defaults of VHT."""
    symbols = -(-n * 1544 * 8 // (rate * 4e-6))
    return n * 12000 / (40e-6 + symbols * 4e-6 + 16e-6 + 32e-6 + 43e-6)


@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_wifi_carries_what_the_formula_says_for_each_size_of_an_aggregate(n: int) -> None:
    result = run(scenario({**CLEAR, "max_mpdus": f"{n} packets"}))
    # The window of 1.5 s begins and ends inside an aggregate.
    assert throughput(result) == pytest.approx(wifi_throughput(n, 1e8), abs=n * 16000)


def test_the_same_seed_gives_the_same_run_on_any_number_of_threads() -> None:
    for medium in (
        {"model": "wifi", "mpdu_error": 0.1},
        {"model": "leo", "rate_spread": 0.3},
        {"model": "docsis", "collision": 0.3},
        {"model": "nr", "spread": 0.5},
    ):
        one, two = (run(scenario(medium), threads=n) for n in (1, 2))
        assert throughput(one) == throughput(two)


@pytest.mark.parametrize(
    ("medium", "other", "place", "message"),
    [
        ("wimax", {}, "medium", "wifi"),
        ({"model": "leo", "outage": "20 s"}, {}, "medium", "less than the period"),
        ({"model": "wifi", "max_mpdus": "1.5 packets"}, {}, "medium", "whole"),
        ({"model": "docsis", "channel_rate": "1 Mbit/s"}, {}, "medium", "at least the rate"),
        ({"model": "nr", "usable_slots": 2}, {}, "medium", "at most the period"),
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
        describe(from_dict(scenario("wifi").to_dict() | {"traffic": [{"kind": "tcp", "count": 2}]}))


def test_a_medium_is_written_as_it_was_read() -> None:
    table = {"model": "leo", "outage": "100 ms"}
    assert Medium.read(table).table() == table
    assert Medium.of("leo", outage="100 ms") == Medium.read(table)
