"""CAKE's shaper, framing, isolation, tins and ACK filter, held to what its description says.

Hoeiland-Joergensen, Taeht and Morton, "Piece of CAKE", IEEE LANMAN 2018; tc-cake(8). Unresponsive
traffic overloads the shaper, so that shares follow from the algorithm alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Estimate
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

LINK, RATE = 100, 20
"""Of the link and of the shaper, Mbit/s."""
WARMUP = 2
PACKET_COST = 3e-6
"""CPU time of a packet, s."""
SOURCE = "Piece of CAKE; tc-cake(8)"

SHAPED = "0.001: a packet at either end of the time, and times of whole nanoseconds."
SHARED = (
    "0.01: a quantum of the round robin and COBALT's first drops, in the warm-up; rates are "
    "counted in whole packets."
)
TIN_SHARES: Mapping[str, tuple[str, float]] = {
    "bulk": ("CS1", 1 / 16),
    "best effort": ("DF", 1 - 1 / 4 - 1 / 16),
    "voice": ("EF", 1 / 4),
}
"""Of diffserv3: a code point and the share under overload. Thresholds are 1/16 and 1/4 of the rate;
best effort, whose threshold is the rate, gets what they leave."""


def on_wire(size: int, overhead: int, mpu: int, framing: str) -> int:
    """Bytes that a packet takes of the shaper."""
    least = max(size + overhead, mpu)
    if framing == "atm":
        return 53 * math.ceil(least / 48)
    return least + math.ceil(least / 64) if framing == "ptm" else least


def scenario(
    cake: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], seconds: float
) -> Scenario:
    """Unresponsive groups through one shaper; a group's rate is that of a flow."""
    return from_dict(
        {
            "name": "cake",
            "duration": f"{WARMUP + seconds} s",
            "warmup": f"{WARMUP} s",
            "replications": 2,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": ["20 ms"],
                "bottleneck": {
                    "rate": f"{LINK} Mbit/s",
                    "delay": "1 ms",
                    "buffer": "1000 packets",
                    "aqm": {"name": "cake", "bandwidth": f"{RATE} Mbit/s", **cake},
                },
                "access": {"rate": "1 Gbit/s"},
            },
            "traffic": [
                {"kind": "cbr", "jitter": "10 ms", "packet": "1500 B", **g} for g in groups
            ],
        }
    )


def shares(result: Result) -> dict[str, Estimate]:
    """The share of each group in what was delivered after the warm-up."""
    table = result.flows
    delivered = table["delivered_1"].to_numpy().astype(float)
    group = np.array(table["group"].to_pylist())
    replication = table["replication"].to_numpy()
    runs = range(result.replications)
    total = [delivered[replication == r].sum() for r in runs]
    return {
        str(name): Estimate.of(
            [delivered[(replication == r) & (group == name)].sum() / total[r] for r in runs]
        )
        for name in dict.fromkeys(group.tolist())
    }


def shaper(
    bench: TaskRunner, size: int, overhead: int, mpu: int, framing: str, seconds: float
) -> list[Check]:
    """The rate of the shaper, overhead and framing counted in."""
    cake = {"overhead": f"{overhead} B", "mpu": f"{mpu} B", "framing": framing}
    offered = {"name": "load", "rate": f"{1.5 * RATE} Mbit/s", "packet": f"{size} B"}
    used = bench.run(scenario(cake, [offered], seconds)).link().figures()["utilization"]
    expected = RATE / LINK * size / on_wire(size, overhead, mpu, framing)
    what = f"packets of {size} B, overhead {overhead} B, mpu {mpu} B, framing {framing}"
    return [
        Check(f"{what}: rate, of the link", SOURCE, used, expected, 0.001 * expected, SHAPED)
    ]  # fmt: skip


def isolation(bench: TaskRunner, mode: str, expected: float, seconds: float) -> list[Check]:
    """The share of one host with one flow, beside a host with three."""
    cake = {"isolation": mode, "source_host": "dscp", "diffserv": "besteffort"}
    groups: list[Mapping[str, Any]] = [
        {"name": "one", "rate": "20 Mbit/s", "dscp": "DF"},
        {"name": "three", "rate": "20 Mbit/s", "count": 3, "dscp": "CS2"},
    ]
    share = shares(bench.run(scenario(cake, groups, seconds)))["one"]
    return [
        Check(f"isolation {mode}: share of a host with one flow beside one with three", SOURCE,
              share, expected, 0.01, SHARED)
    ]  # fmt: skip


def unequal(bench: TaskRunner, seconds: float) -> list[Check]:
    """Flows of 2, 10 and 40 Mbit/s: the first gets what it sends, the others the same."""
    groups = [{"name": f"{rate}", "rate": f"{rate} Mbit/s"} for rate in (2, 10, 40)]
    got = shares(bench.run(scenario({"diffserv": "besteffort"}, groups, seconds)))
    return [
        Check(f"flows of 2, 10 and 40 Mbit/s: share of that of {name}", f"{SOURCE}: max-min",
              got[name], expected, 0.01, SHARED)
        for name, expected in (("2", 0.1), ("10", 0.45), ("40", 0.45))
    ]  # fmt: skip


def tins(bench: TaskRunner, seconds: float) -> list[Check]:
    """Shares of the tins of diffserv3, all overloaded."""
    groups = [
        {"name": name, "rate": "20 Mbit/s", "dscp": dscp} for name, (dscp, _) in TIN_SHARES.items()
    ]
    got = shares(bench.run(scenario({"diffserv": "diffserv3"}, groups, seconds)))
    return [
        Check(f"diffserv3, overloaded: share of {name}", SOURCE, got[name], expected, 0.01, SHARED)
        for name, (_, expected) in TIN_SHARES.items()
    ]


def filtered(bench: TaskRunner, mode: str, most: float, seconds: float) -> list[Check]:
    """The ACK filter: about 1400 acknowledgements a second on a way back for 360."""
    way_back = {
        "rate": "150 kbit/s", "delay": "1 ms", "buffer": "1000 packets",
        "aqm": {"name": "cake", "ack_filter": mode},
    }  # fmt: skip
    asymmetric = from_dict(
        {
            "name": f"ACK filter {mode}",
            "duration": f"{10 + seconds} s",
            "warmup": "10 s",
            "replications": 2,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": ["40 ms"],
                "bottleneck": {"rate": f"{RATE} Mbit/s", "delay": "1 ms", "buffer": "200 packets"},
                "reverse": way_back,
                "access": {"rate": "1 Gbit/s"},
            },
            # A window below what would overflow the way there: no acknowledgement has SACK blocks,
            # which the filter keeps.
            "transport": {
                "default": {
                    "preset": "linux",
                    "delayed_ack": "0 s",
                    "max_window": "60 packets",
                }
            },
            "traffic": [{"kind": "tcp"}],
        }
    )
    result = bench.run(asymmetric)
    queue = next(name for name in result.links if name != "bottleneck")
    waiting = result.link(queue).figures()["queue_mean"]
    return [
        Check(f"ACK filter {mode}: mean queue on the way back", SOURCE, waiting, most / 2,
              most / 2, f"From nothing to {most:g}: what the filter leaves of a flow's "
              "acknowledgements.", unit="packets")
    ]  # fmt: skip


FRAMES = (
    (1500, 0, 0, "none"),
    (1500, 38, 0, "none"),
    (100, 18, 256, "none"),
    (1500, 40, 0, "atm"),
    (100, 40, 0, "atm"),
    (1500, 30, 0, "ptm"),
)
"""Size, overhead, mpu and framing: Ethernet, ADSL and VDSL (tc-cake(8))."""
HOSTS = {"flows": 0.25, "srchost": 0.5, "dual_srchost": 0.5}
"""The share of one of four flows, and of one of two hosts."""
FILTERS = {"on": 3.0, "aggressive": 2.0}
"""Acknowledgements of a flow that can wait: aggressive keeps the latest and one that arrives,
on one before them."""


def tasks(effort: Effort) -> list[Task]:
    """A task a setting."""
    seconds = effort.pick(20.0, 4.0)
    cost = 2 * PACKET_COST * 60e6 / 12e3 * (WARMUP + seconds)
    return [
        *(
            Task(f"framing {framing}, {size} B", cost * 1500 / size / 2,
                 partial(shaper, size=size, overhead=overhead, mpu=mpu, framing=framing,
                         seconds=seconds))
            for size, overhead, mpu, framing in FRAMES
        ),
        *(
            Task(f"isolation {mode}", cost,
                 partial(isolation, mode=mode, expected=expected, seconds=seconds))
            for mode, expected in HOSTS.items()
        ),
        Task("unequal flows", cost, partial(unequal, seconds=seconds)),
        Task("tins", cost, partial(tins, seconds=seconds)),
        *(
            Task(f"ACK filter {mode}", cost,
                 partial(filtered, mode=mode, most=most, seconds=seconds))
            for mode, most in FILTERS.items()
        ),
    ]  # fmt: skip


CAKE = Rung(
    "cake",
    "CAKE's shaper, shares and ACK filter",
    f"Unresponsive traffic overloads a shaper of {RATE} Mbit/s on a link of {LINK} Mbit/s; a TCP "
    "flow's acknowledgements overload a narrow way back.",
    tasks,
)
