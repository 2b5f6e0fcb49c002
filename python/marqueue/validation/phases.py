"""Phase effects: under droptail without jitter the phase of two flows decides which one loses
packets.

S. Floyd and V. Jacobson, "On traffic phase effects in packet-switched gateways", Internetworking:
Research and Experience 3(3), 1992: a bottleneck of 100 packets per second, and flows with
round-trip times that differ by less than a packet time. Random delays of packets remove the effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.validation.check import Check
from marqueue.validation.one_flow import PACKET_COST
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

RTT = 0.220
SERVICE = 0.010
"""Transmission time of a packet at the bottleneck, s."""
WARMUP = 50.0

EFFECT = (
    "From three quarters, which is plainly unfair, to all: in the paper's figures a flow gets from "
    "nearly nothing to nearly everything."
)
CURED = (
    "0.05: round-trip times that differ by up to a transmission time, 4.5%, move a share by up to "
    "0.023 (rates between 1/RTT and 1/RTT²), and as much again for what synchronisation is left."
)
RESIDUE = (
    "A jitter of one transmission time weakens the bias of two flows, but leaves some of it; so it "
    "does in ns-2.35, where overhead_ = 10 ms takes a share of 0.92 to 0.69 (docs/validation.md, "
    "Phase effects)."
)


def scenario(phase: float, jitter: int, seconds: float, replications: int) -> Scenario:
    """Two flows with round-trip times that differ by ``phase`` transmission times, and packets
    delayed by random times of up to ``jitter`` of them. Start times are random."""
    access: dict[str, object] = {"rate": "8 Mbit/s"}
    if jitter:
        access["jitter"] = f"{jitter * SERVICE / 2} s"
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


def share(bench: TaskRunner, of: Scenario) -> Floats:
    """Goodput share of the flow with the longer round-trip time, one value per replication."""
    result = bench.run(of)
    shorter, longer = (
        np.array([flows.delivered.sum() for flows in result.flow_sets(class_=name)])
        for name in result.classes
    )
    shares: Floats = longer / (shorter + longer)
    return shares


def checks(
    bench: TaskRunner, phases: Sequence[float], seconds: float, replications: int
) -> list[Check]:
    """The worst phase without jitter and with some; every phase with more."""

    def shares(jitter: int) -> list[Floats]:
        return [share(bench, scenario(phase, jitter, seconds, replications)) for phase in phases]

    none, one, four = (shares(jitter) for jitter in (0, 1, 4))
    worst = max(range(len(phases)), key=lambda i: abs(none[i].mean() - 0.5))
    favoured, still = (np.maximum(of[worst], 1 - of[worst]) for of in (none, one))
    at = f"phase {phases[worst]:g}: larger share of two"
    return [
        Check(f"no jitter, {at}", "Floyd and Jacobson 1992", Estimate.of(favoured), 0.875, 0.125,
              EFFECT),
        Check(f"jitter of 1 transmission time, {at}", "equal shares", Estimate.of(still), 0.5,
              0.05, CURED, explained=RESIDUE),
        *(
            Check(f"jitter of 4 transmission times, phase {phase:g}: share of the second",
                  "equal shares", Estimate.of(of), 0.5, 0.05, CURED)
            for phase, of in zip(phases, four, strict=True)
        ),
    ]  # fmt: skip


def tasks(effort: Effort) -> list[Task]:
    """One task for all phases, because the worst is selected."""
    phases = effort.pick((0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9), (0.25, 0.7, 0.8))
    seconds, replications = effort.pick(1000.0, 500.0), 12
    packets = 3 * len(phases) * seconds * replications / SERVICE
    of = partial(checks, phases=phases, seconds=seconds, replications=replications)
    return [Task("phases", PACKET_COST * packets, of)]


PHASES = Rung(
    "phases",
    "phase effects, and that jitter cures them",
    "Two flows under droptail whose round-trip times differ by a part (the phase) of a "
    "transmission time at the bottleneck. Both start at random times; jitter is a random time of "
    "up to so many transmission times by which each packet is held back on the access links.",
    tasks,
)
