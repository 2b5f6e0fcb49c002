"""How segments leave a host, and how acknowledgements do: seen at the links between."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from marqueue import from_dict, run
from marqueue.errors import ScenarioError
from marqueue.results import Result

SERIALIZATION = 1500 * 8 / 1e9
"""Of a packet at the access link, s: between packets of a burst."""


def result(**transport: Any) -> Result:
    """One flow whose window is 40 packets, over a link that it does not fill; traces of both
    directions.
    """
    return run(
        from_dict(
            {
                "name": "bursts",
                "duration": "4 s",
                "warmup": "2 s",
                "replications": 1,
                "topology": {
                    "kind": "dumbbell",
                    "rtts": ["40 ms"],
                    "access": {"rate": "1 Gbit/s"},
                    "bottleneck": {
                        "rate": "100 Mbit/s", "delay": "5 ms", "buffer": "100 packets",
                        "trace": True,
                    },
                },
                "transport": {
                    "default": {"preset": "linux", "control": "reno", "max_window": "40 packets"}
                    | transport
                },
                "traffic": [{"kind": "tcp", "jitter": "0 s", "trace": True}],
            }
        )
    )  # fmt: skip


def arrivals(of: Result, back: bool = False) -> list[dict[str, Any]]:
    """The packets that arrive at the bottleneck, or at its reverse direction, after 2 s."""
    rows: list[dict[str, Any]] = of.to_arrow("trace").to_pylist()
    return [
        row
        for row in rows
        if row["kind"] == "arrive" and row["t"] > 2 and ("reverse" in row["link"]) == back
    ]


def bursts(of: Result) -> Counter[int]:
    """The sizes of groups of packets that arrive back to back."""
    times = [row["t"] for row in arrivals(of)]
    starts = np.flatnonzero(np.diff(times) > 2 * SERIALIZATION) + 1
    return Counter(np.diff(starts).tolist())


def test_a_paced_sender_sends_single_packets_or_bursts_of_a_millisecond() -> None:
    # 1.2 x 40 packets in 40 ms: 1200 a second, 1.2 in 1/1024 s, so a burst has its least size.
    single = bursts(result(pacing="window"))
    assert single[1] == single.total() > 1000
    pairs = bursts(result(pacing="window", pacing_burst="44 packets"))
    assert pairs[2] > 0.9 * pairs.total()
    assert max(pairs) == 2
    # 300 packets in 40 ms: 9000 a second, 8.8 in 1/1024 s. An acknowledgement of 16 lets out two
    # such bursts, or four if four packets are the most.
    wide = {"pacing": "window", "max_window": "300 packets", "ack_every": "16 packets"}
    autosized, limited = (
        bursts(result(**wide, pacing_burst=f"{most} packets")) for most in (44, 4)
    )
    assert autosized[8] > 0.9 * autosized.total()
    assert limited[4] > 0.9 * limited.total()


def test_a_receiver_acknowledges_every_so_many_segments_or_after_a_time() -> None:
    def segments_an_acknowledgement(**transport: Any) -> float:
        found = result(**transport)
        return len(arrivals(found)) / len(arrivals(found, back=True))

    assert segments_an_acknowledgement() == pytest.approx(2, rel=0.02)
    assert segments_an_acknowledgement(ack_every="8 packets") == pytest.approx(8, rel=0.02)
    # Paced packets are 0.83 to 1 ms apart: two or three follow the first within 2.5 ms.
    coalesced = {"ack_every": "8 packets", "delayed_ack": "2.5 ms", "pacing": "window"}
    assert 2.5 < segments_an_acknowledgement(**coalesced) < 4


def test_bursts_without_pacing_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"transport\.default\.pacing_burst: got 8 packets"):
        result(pacing_burst="8 packets")


def test_each_burst_of_bbr_has_the_size_that_its_rate_gives() -> None:
    """At 100 Mbit/s 8 segments, 10 and 6 while it probes and drains: gains of 1.25 and .75."""
    found = result(control="bbr1", max_window="4000 packets", pacing_burst="44 packets")
    times = np.array([row["t"] for row in arrivals(found)])
    starts = np.flatnonzero(np.diff(times) > 2 * SERIALIZATION) + 1
    model = found.to_pandas("path_model")
    # From the sender to the bottleneck: 15 ms, and 12 us of transmission.
    sent = np.searchsorted(model.t.to_numpy(), times[starts] - 15.01e-3) - 1
    autosized = (model.pacing_rate.to_numpy()[sent] / 1024).astype(int)
    assert set(autosized) == {6, 8, 10}
    # The probes overflow the buffer; a burst with a retransmission in it is divided.
    sizes = Counter(np.diff(starts).tolist())
    same = sizes & Counter(autosized[:-1].tolist())
    assert same.total() > 0.97 * sizes.total()
