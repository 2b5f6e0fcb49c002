"""Which AQMs are compared, and on what: the same numbers for tc and for a scenario."""

from dataclasses import dataclass, field
from typing import Any

RATE = 10_000_000
"""Of the bottleneck, bit/s, with Ethernet headers on both sides."""
RTT = 0.040
"""Without queueing, s."""
LIMIT = 100
"""Of the queue, packets."""
FLOWS = 2
WARMUP = 6
MEASURED = 10
"""Seconds, beginning with the flows."""
FRAME = 1514
"""A packet of 1500 bytes in its Ethernet header."""


@dataclass(frozen=True)
class Peer:
    """One AQM on both sides."""

    name: str
    tc: str
    """Kind and options for tc."""
    aqm: dict[str, Any] = field(default_factory=dict)
    """Its parameters in a scenario."""
    ecn: bool = True


# tc turns a burst of 17 packets above a minimum of 10 into a weight of 2^-4 (tc_red.c).
_RED = {
    "min_th": "10 packets",
    "max_th": "30 packets",
    "max_p": 0.1,
    "w_q": 0.0625,
    "gentle": False,
    "wait": False,
}

PEERS = (
    Peer("droptail", f"pfifo limit {LIMIT}", ecn=False),
    Peer(
        "red",
        f"red limit {LIMIT * FRAME} min {10 * FRAME} max {30 * FRAME} avpkt {FRAME} burst 17 "
        "probability 0.1 bandwidth 10mbit ecn",
        _RED,
    ),
    Peer(
        "choke",
        f"choke limit {LIMIT} bandwidth 10mbit min 10 max 30 avpkt {FRAME} burst 17 "
        "probability 0.1",
        _RED,
        ecn=False,
    ),
    # In whole ticks of the guest, which are of 10 ms: 15 ms would be 20 ms there and 15 ms here.
    Peer(
        "pie",
        f"pie limit {LIMIT} target 15ms tupdate 20ms alpha 2 beta 20 ecn",
        {"t_update": "20 ms"},
    ),
    Peer("codel", f"codel limit {LIMIT} target 5ms interval 100ms ecn"),
)
