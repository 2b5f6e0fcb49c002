"""Paths and flows of the suite for RFC 9743.

The text names criteria and kinds of paths, and leaves numbers open. Unless a case says otherwise
the bottleneck has 20 Mbit/s, a round trip of 40 ms and a drop-tail buffer of one bandwidth-delay
product (67 packets).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.evaluation.case import Effort
from marqueue.evaluation.transports import Table, settings
from marqueue.scenario import Scenario, from_dict

MBIT = 1_000_000
PACKET = 1500
RATE, RTT = 20.0, 40.0
"""Mbit/s and ms."""
WARMUP = 10.0
LAST = 5.0
"""Time without new short flows at the end, s."""


def pipe(rate: float = RATE, rtt: float = RTT) -> int:
    """The bandwidth-delay product, packets, for Mbit/s and ms."""
    return max(1, round(rate * MBIT * rtt / 1e3 / 8 / PACKET))


def flows(name: str, count: int = 1, **more: Any) -> Table:
    """Unlimited flows; ``transport`` names their settings: ``new`` by default."""
    return {"kind": "tcp", "name": name, "count": count, "transport": "new", **more}


def path(
    title: str,
    about: str,
    control: str,
    traffic: Sequence[Table],
    effort: Effort,
    *,
    rate: float = RATE,
    rtt: float = RTT,
    buffer: float = 1.0,
    seconds: tuple[float, float] = (120.0, 40.0),
    warmup: float = WARMUP,
    ecn: bool | None = None,
    link: Mapping[str, Any] | None = None,
    cuts: Sequence[float] = (),
    trace: bool = False,
    fast: bool = False,
) -> Scenario:
    """A dumbbell; ``buffer`` in bandwidth-delay products, ``seconds`` in the full and the quick
    form. The transport ``new`` is the control, ``standard`` is CUBIC and ``reno`` is Reno."""
    service = 8 * PACKET / rate / MBIT
    end = warmup + effort.pick(*seconds)
    # The last short flows have time to finish.
    last = {"stop": f"{end - LAST:g} s"}
    groups = [each | last if each["kind"] == "poisson" else each for each in traffic]
    return from_dict(
        {
            "name": title,
            "description": about,
            "duration": f"{end:g} s",
            "warmup": f"{warmup:g} s",
            "cuts": [f"{cut:g} s" for cut in cuts],
            "replications": effort.pick(10, 5),
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt:g} ms"],
                "access": {
                    "rate": "10 Gbit/s" if fast else "1 Gbit/s",
                    "jitter": f"{service / 2:.9f} s",
                },
                "bottleneck": {
                    "rate": f"{rate:g} Mbit/s",
                    "delay": "0.02 ms" if fast else "1 ms",
                    "buffer": f"{max(2, round(buffer * pipe(rate, rtt)))} packets",
                    "aqm": "droptail",
                    "packet": f"{PACKET} B",
                    "trace": trace,
                    **(link or {}),
                },
            },
            "transport": {
                "default": settings("cubic"),
                "new": settings(control, ecn),
                "standard": settings("cubic"),
                "reno": settings("reno"),
            },
            "traffic": groups,
        }
    )
