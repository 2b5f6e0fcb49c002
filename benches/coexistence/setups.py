"""The set-ups of docs/coexistence.md, as ordinary scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marqueue.scenario import Scenario, from_dict

RATE = 50
"""Of the bottleneck, Mbit/s."""
PACKET = 1500
"""On the wire, bytes."""
SENDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "prague": ("Prague", {"control": "prague", "ecn": True}),
    "cubic": ("CUBIC", {"control": "cubic", "ecn": True}),
    "reno": ("Reno", {"control": "reno", "ecn": True}),
    "bbr1": ("BBRv1", {"control": "bbr1"}),
    "bbr3": ("BBRv3", {"control": "bbr3"}),
}
"""By the name of the window law: the name to show, and settings beyond those of Linux."""
AQMS: Mapping[str, str] = {
    "droptail": "417 packets",
    "codel": "1000 packets",
    "fq_codel": "1000 packets",
    "pie": "1000 packets",
    "pi2": "1000 packets",
    "dualpi2": "1000 packets",
    "cake": "1000 packets",
}
"""The buffer of each: 100 ms of packets where it alone limits the queue, 240 ms elsewhere."""


def named(law: str) -> str:
    """The name to show."""
    return SENDERS[law][0]


def scenario(
    aqm: str, rtt: int, warmup: int, seconds: int, replications: int, *traffic: dict[str, Any]
) -> Scenario:
    """Groups of TCP flows at one bottleneck; ``rtt`` in ms, ``warmup`` and ``seconds`` in s."""
    return from_dict(
        {
            "name": f"{aqm}, {rtt} ms",
            "duration": f"{warmup + seconds} s",
            "warmup": f"{warmup} s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt} ms"],
                "bottleneck": {
                    "rate": f"{RATE} Mbit/s",
                    "delay": "1 ms",
                    "buffer": AQMS[aqm],
                    "aqm": aqm,
                },
                "access": {"rate": "1 Gbit/s"},
            },
            "transport": {
                law: {"preset": "linux", **SENDERS[law][1]}
                for law in {each["transport"] for each in traffic}
            },
            "traffic": list(traffic),
        }
    )
