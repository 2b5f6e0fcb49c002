"""The network of RFC 7928, section 3, and the constants of its scenarios.

The text leaves rate and round-trip time open, except where the capacity varies (8.2.6). Here they
are 10 Mbit/s and 100 ms, the rate of the slow phase there and the middle of the round-trip times of
section 6.2. The buffer is the bandwidth-delay product (3.2), so that drop-tail adds a round trip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.evaluation.case import Effort
from marqueue.scenario import Aqm, Scenario, from_dict

MBIT = 1_000_000
RATE = 10
"""Mbit/s."""
RTT = 100
"""ms."""
PACKET = 1500
"""Bytes of a full packet on the wire."""
WARMUP = 20.0
"""Start of the measurements, s, after slow start and the first losses of every flow."""

Table = dict[str, Any]


def pipe(rate: float, rtt: float) -> int:
    """The bandwidth-delay product, packets, for Mbit/s and ms."""
    return round(rate * MBIT * rtt / 1e3 / 8 / PACKET)


BUFFER = pipe(RATE, RTT)
SUM = 2 * BUFFER
"""S of section 8.2.1: bandwidth-delay product and buffer, packets."""

LEVELS: Mapping[str, float] = {"mild": 0.001, "medium": 0.005, "heavy": 0.01}
"""Packet drop rates of the congestion levels (8.2.2 to 8.2.4)."""


def flows_for(loss: float, packets: float) -> float:
    """N of section 8.2.1: the bulk flows that lose this share of their packets, for a sum S of
    bandwidth-delay product and buffer, packets."""
    return packets * math.sqrt(1 / 0.76) * math.sqrt(loss)


def level(name: str) -> int:
    """The number of bulk flows of a congestion level in this network."""
    return round(flows_for(LEVELS[name], SUM))


def bulk(name: str = "bulk", count: int = 1, **more: Any) -> Table:
    """Unlimited TCP flows."""
    return {"kind": "tcp", "name": name, "count": count, **more}


def cbr(name: str, rate: str, packet: str = "1500 B", **more: Any) -> Table:
    """UDP of constant rate."""
    return {"kind": "cbr", "name": name, "rate": rate, "packet": packet, **more}


OBJECTS, OBJECT, CONNECTIONS = 50, 6000, 6
"""A web page (7.2): objects, bytes of each, and the connections that fetch them side by side."""
PAGE_EVERY = 4.0
"""Time between the starts of two pages, s: longer than one takes on an idle link."""


def pages(starts: Sequence[float], prefix: str = "page") -> list[Table]:
    """Web pages that begin at these times, s, each on six connections with a window of ten."""
    size = math.ceil(OBJECTS * OBJECT / 1460 / CONNECTIONS)
    return [
        {
            "kind": "tcp",
            "name": f"{prefix} {i}",
            "count": CONNECTIONS,
            "size": f"{size} packets",
            "start": f"{start:g} s",
            "jitter": "0 s",
            "trace": True,
        }
        for i, start in enumerate(starts, 1)
    ]


def page_names(effort: Effort) -> list[str]:
    """The groups of :func:`page_starts`."""
    return [f"page {i + 1}" for i in range(len(page_starts(effort)))]


def page_starts(effort: Effort) -> list[float]:
    """Starts of pages in the measured time, s."""
    return [WARMUP + PAGE_EVERY * i for i in range(effort.pick(30, 10))]


def reno(**more: Any) -> Table:
    """NewReno with SACK, the base line of section 3.3."""
    return {"preset": "rfc", "control": "reno", **more}


def network(
    name: str,
    about: str,
    aqm: Aqm,
    traffic: Sequence[Table],
    effort: Effort,
    *,
    seconds: tuple[float, float] = (180.0, 60.0),
    warmup: float = WARMUP,
    rtts: Sequence[float] = (RTT,),
    buffer: int = BUFFER,
    rate: float = RATE,
    transport: Mapping[str, Table] | None = None,
    queue: Mapping[str, Any] | None = None,
    reverse: Table | None = None,
    cuts: Sequence[float] = (),
    trace: bool = True,
) -> Scenario:
    """A dumbbell with this AQM at its bottleneck; ``seconds`` are measured in the full and in the
    quick form."""
    service = 8 * PACKET / rate / MBIT
    topology: Table = {
        "kind": "dumbbell",
        "rtts": [f"{rtt:g} ms" for rtt in rtts],
        # Jitter, so that no phase effects decide who loses (docs/validation.md).
        "access": {"rate": "1 Gbit/s", "jitter": f"{service / 2:.6f} s"},
        "bottleneck": {
            "rate": f"{rate:g} Mbit/s",
            "delay": "1 ms",
            "buffer": f"{buffer} packets",
            "aqm": aqm.table(),
            "packet": f"{PACKET} B",
            "trace": trace,
            **(queue or {}),
        },
    }
    if reverse is not None:
        topology["reverse"] = reverse
    return from_dict(
        {
            "name": name,
            "description": about,
            "duration": f"{warmup + effort.pick(*seconds):g} s",
            "warmup": f"{warmup:g} s",
            "cuts": [f"{cut:g} s" for cut in cuts],
            "replications": effort.pick(10, 5),
            "topology": topology,
            "transport": dict(transport or {"default": reno()}),
            "traffic": list(traffic),
        }
    )
