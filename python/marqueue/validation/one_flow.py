"""TCP flows over a wide, lossy link: the setting of throughput laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Floats

SEGMENT = 1000
"""Bytes."""
WARMUP = 30.0
"""Seconds."""

PACKET_COST = 1.2e-6
"""CPU time of a packet and its acknowledgement, s (approximate)."""

Settings = Mapping[str, Any]


def lossy(
    name: str,
    loss: Settings,
    transport: Settings,
    *,
    rtts: Sequence[float],
    seconds: float,
    replications: int,
    trace: bool = False,
) -> Scenario:
    """A flow for each round-trip time, s, over a link wide enough to have no queue."""
    return from_dict(
        {
            "name": name,
            "duration": f"{WARMUP + seconds:.3f} s",
            "warmup": f"{WARMUP} s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt} s" for rtt in rtts],
                "bottleneck": {
                    "rate": "10 Gbit/s",
                    "delay": "1 ms",
                    "buffer": "100000 packets",
                    "loss": dict(loss),
                },
                "access": {"rate": "10 Gbit/s"},
            },
            "transport": {
                "default": {"segment": f"{SEGMENT} B", "count_header": False, **transport}
            },
            "traffic": [{"kind": "tcp", "count": len(rtts), "trace": trace}],
        }
    )


def windows(result: Result, rtts: Sequence[float]) -> list[Floats]:
    """Goodput in segments per round-trip time: for each round-trip time, one value per
    replication."""
    return [
        np.array(
            [
                flows.delivered.sum() / SEGMENT / (flows.end - flows.begin) * rtt
                for flows in result.flow_sets(class_=name)
            ]
        )
        for name, rtt in zip(result.classes, rtts, strict=True)
    ]
