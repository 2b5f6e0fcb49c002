"""Phase effects: with droptail and without jitter the phase of two flows decides who loses.

S. Floyd and V. Jacobson, "On traffic phase effects in packet-switched gateways", Internetworking:
Research and Experience 3(3), 1992: a bottleneck of 100 packets a second, flows whose round-trip
times differ by less than a packet. A random time of up to a transmission time before each packet
cures it (section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from marqueue.scenario import Scenario, from_dict
from marqueue.stats import Estimate, Floats
from marqueue.validate.check import Check
from marqueue.validate.rung import Bench, Effort, Rung, Task
from marqueue.validate.single import PACKET_COST

RTT = 0.220
SERVICE = 0.010
"""Transmission time of a packet at the bottleneck, s."""
WARMUP = 50.0

EFFECT = (
    "From three quarters, which is plainly unfair, to all: in the paper's figures 3 to 6 a flow "
    "gets from nearly nothing to nearly everything."
)
CURED = (
    "0.05: round-trip times that differ by up to a transmission time, 4.5%, move a share by up to "
    "0.023 (rates between 1/RTT and 1/RTT²), and as much again for what synchronisation is left."
)


def scenario(phase: float, jitter: bool, seconds: float, replications: int) -> Scenario:
    """Two flows whose round-trip times differ by ``phase`` transmission times. Both start at random
    times."""
    access: dict[str, object] = {"rate": "8 Mbit/s"}
    if jitter:
        access["jitter"] = f"{SERVICE / 2} s"
    return from_dict(
        {
            "name": f"phase {phase:g}",
            "duration": f"{WARMUP + seconds} s",
            "warmup": f"{WARMUP} s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{RTT} s", f"{RTT + phase * SERVICE} s"],
                "access": access,
                "bottleneck": {"rate": "800 kbit/s", "delay": "100 ms", "buffer": "15 packets"},
            },
            "transport": {"default": {"preset": "ns2", "recovery": "reno"}},
            "traffic": [{"kind": "tcp", "count": 2, "jitter": "3 s"}],
        }
    )


def share(bench: Bench, of: Scenario) -> Floats:
    """The share of the flow with the longer round-trip time, one value a replication."""
    result = bench.run(of)
    shorter, longer = (
        np.array([flows.delivered.sum() for flows in result.flow_sets(class_=name)])
        for name in result.classes
    )
    shares: Floats = longer / (shorter + longer)
    return shares


def checks(bench: Bench, phases: Sequence[float], seconds: float, replications: int) -> list[Check]:
    """The worst phase without jitter, and every phase with it."""
    bare, cured = (
        [share(bench, scenario(phase, jitter, seconds, replications)) for phase in phases]
        for jitter in (False, True)
    )
    worst = max(range(len(phases)), key=lambda i: abs(bare[i].mean() - 0.5))
    favoured = np.maximum(bare[worst], 1 - bare[worst])
    return [
        Check(f"no jitter, phase {phases[worst]:g}: larger share of two",
              "phase effects, Floyd and Jacobson", Estimate.of(favoured), 0.875, 0.125, EFFECT),
        *(
            Check(f"jitter, phase {phase:g}: share of one of two",
                  "Floyd and Jacobson, section 3.2", Estimate.of(shares), 0.5, 0.05, CURED)
            for phase, shares in zip(phases, cured, strict=True)
        ),
    ]  # fmt: skip


def tasks(effort: Effort) -> list[Task]:
    """All phases in one, as the worst is looked for."""
    phases = effort.pick((0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9), (0.25, 0.7, 0.8))
    seconds, replications = effort.pick(1000.0, 500.0), 12
    packets = 2 * len(phases) * seconds * replications / SERVICE
    of = partial(checks, phases=phases, seconds=seconds, replications=replications)
    return [Task("phases", PACKET_COST * packets, of)]


PHASES = Rung(
    "phases",
    "phase effects, and that jitter cures them",
    "Two flows under droptail whose round-trip times differ by a part (the phase) of a "
    "transmission time at the bottleneck. Both start at random times; jitter is a random time of "
    "up to a transmission time that each packet is held back at its source.",
    tasks,
)
