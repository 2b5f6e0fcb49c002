"""QUIC flows: downloads by quinn-proto over the simulated network."""

import json
from typing import Any

import numpy as np
import pytest

import marqueue._core as _core
from marqueue.errors import ScenarioError
from marqueue.results import Result
from marqueue.scenario import compile, from_dict
from marqueue.simulation.run import run

QUIC: dict[str, Any] = {"kind": "quic", "name": "quic"}


def scenario(*traffic: dict[str, Any], **bottleneck: Any) -> Any:
    """A dumbbell of 10 Mbit/s and 40 ms."""
    queue = {"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "60 packets", **bottleneck}
    return from_dict(
        {
            "name": "quic",
            "duration": "8 s",
            "warmup": "3 s",
            "replications": 1,
            "sample": "100 ms",
            "topology": {
                "kind": "dumbbell",
                "rtts": ["40 ms"],
                "bottleneck": queue,
                "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
            },
            "transport": {"default": {"ecn": True}},
            "traffic": list(traffic),
        }
    )


def refusal(**keys: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        compile(scenario({**QUIC, **keys}))
    return str(caught.value)


def column(result: Result, name: str) -> np.ndarray[Any, Any]:
    return result.tables["flows"][name].to_numpy()


def test_the_same_seed_gives_the_same_digest() -> None:
    flows = {**QUIC, "arrivals": "5 /s", "size": "40 kB", "sizes": "pareto", "shape": 1.5}
    plan = json.dumps(compile(scenario({**QUIC, "count": 3}, {**flows, "name": "short"})))
    assert _core.digest(plan, 1) == _core.digest(plan, 1)
    assert _core.digest(plan, 1) != _core.digest(plan, 2)


@pytest.mark.parametrize("library", ["quinn", "noq"])
@pytest.mark.parametrize("control", ["cubic", "new_reno"])
def test_long_flows_take_the_link(control: str, library: str) -> None:
    keys = {"count": 2, "library": library, "control": control, "trace": True, "sample_cwnd": True}
    result = run(scenario({**QUIC, **keys}))
    # 1168 of 1228 bytes are data. What waits out of order as the measuring begins, at most a full
    # queue, counts in it.
    goodput = column(result, "goodput").sum()
    assert 0.93 * 9.51e6 < goodput < 9.6e6
    assert column(result, "retransmits").sum() > 0
    trace = result.tables["tcp"]
    assert set(trace["flow"].to_pylist()) == {0, 1}
    srtt = trace["srtt"].to_numpy()[-1]
    assert 0.04 < srtt < 0.04 + 61 * 1228 * 8 / 10e6 + 0.03


@pytest.mark.parametrize("library", ["quinn", "noq"])
def test_marks_are_answered_and_nothing_is_lost(library: str) -> None:
    marking = {"aqm": "codel", "signal": "ecn", "buffer": "1000 packets"}
    quic = {**QUIC, "library": library, "count": 2}
    result = run(scenario(quic, **marking))
    assert column(result, "ecn_cuts").sum() > 0
    assert column(result, "retransmits").sum() == 0
    without = run(scenario({**quic, "ecn": False}, **marking))
    assert column(without, "ecn_cuts").sum() == 0
    assert column(without, "retransmits").sum() > 0


def test_short_flows_deliver_their_data_beside_tcp() -> None:
    short = {**QUIC, "arrivals": "4 /s", "size": "30 kB", "stop": "5 s"}
    result = run(scenario(short, {"kind": "tcp", "name": "tcp", "count": 1}))
    is_quic = np.array(result.tables["flows"]["kind"].to_pylist()) == "quic"
    delivered = column(result, "delivered_0") + column(result, "delivered_1")
    assert is_quic.sum() > 5
    assert (delivered[is_quic] == 30_000).all()
    # Connecting, asking and receiving take two round trips at least.
    assert (column(result, "fct")[is_quic] > 0.08).all()
    assert delivered[~is_quic].sum() > 1e6


def test_a_stream_has_its_rate() -> None:
    result = run(scenario({**QUIC, "count": 2, "rate": "1.5 Mbit/s", "trace": True}))
    # 5 s are measured; each stream has 1168 bytes every 6.2 ms.
    assert column(result, "delivered_1") * 8 / 5 == pytest.approx(1.5e6, rel=0.01)
    assert column(result, "retransmits").sum() == 0
    # The window of a sender whose application limits it does not grow.
    assert result.tables["tcp"]["cwnd"].to_numpy().max() < 40


def test_a_trace_has_no_round_trip_time_before_the_first() -> None:
    result = run(scenario({**QUIC, "size": "30 kB", "trace": True, "jitter": "0 s"}))
    rows = result.tables["tcp"].to_pandas()
    assert rows["srtt"].isna().iloc[0]
    assert rows["srtt"].dropna().between(0.04, 0.06).all()
    assert not rows["srtt"].isna().iloc[-1]


def test_mistakes_are_told_with_place_and_value() -> None:
    assert 'got "bbr", expected "cubic" or "new_reno"' in refusal(control="bbr")
    assert 'got "bbr3", expected "cubic"' in refusal(library="noq", control="bbr3")
    assert 'library: got "neqo", expected one of quinn, noq' in refusal(library="neqo")
    assert "traffic.quic.control" in refusal(control="reno")
    assert "traffic.quic.packet: got 1000 bytes" in refusal(packet="1000 B")
    assert "got arrivals with count or jitter" in refusal(arrivals="1 /s", count=2, size="1 kB")
    assert "got arrivals without size" in refusal(arrivals="1 /s")
    assert "expected a shape" in refusal(size="1 kB", sizes="pareto")
    assert "transport" in refusal(transport="default")
    assert "traffic.quic.rate" in refusal(rate="0 bit/s")
