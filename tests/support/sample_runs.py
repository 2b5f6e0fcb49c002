"""A small scenario whose result has all parts: classes, short flows, traces, several windows."""

from functools import cache
from typing import Any

import marqueue
from marqueue.scenario import from_dict

SCENARIO: dict[str, Any] = {
    "name": "Two classes & <short> flows",
    "duration": "12 s",
    "warmup": "3 s",
    "cuts": ["8 s"],
    "replications": 3,
    "sample": "50 ms",
    "topology": {
        "kind": "dumbbell",
        "rtts": ["20 ms", "50 ms"],
        "bottleneck": {
            "rate": "5 Mbit/s",
            "delay": "2 ms",
            "buffer": "25 packets",
            "aqm": {"name": "red"},
            "trace": True,
        },
    },
    "transport": {"default": {"preset": "ns2", "ecn": True}},
    "traffic": [
        {"name": "long", "kind": "tcp", "count": 6, "trace": True},
        {"name": "short", "kind": "poisson", "rate": "8 /s", "size": "10 packets"},
    ],
}


@cache
def sample_run(jobs: int = 1, **changes: Any) -> marqueue.Result:
    """The result of the scenario with some top-level values changed."""
    return marqueue.run(from_dict(SCENARIO | changes), jobs=jobs)
