"""DCTCP under step marking: share of marks, amplitude and mean of the queue.

M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3; RFC 8257.
"""

from __future__ import annotations

import math
from functools import partial

from marqueue.scenario import Scenario, from_dict
from marqueue.theory.tcp.laws import dctcp_alpha
from marqueue.validation.check import Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

RATE = 50_000_000
"""bit/s."""
RTT = 0.010
"""Seconds."""
PACKET = 1500
"""Packet size on the wire, bytes."""

ALPHA_BECAUSE = (
    "alpha/(2 T_C): the model's cycle has T_C round trips, a real number, but windows grow from "
    "one round trip to the next: half a round trip."
)
QUEUE_BECAUSE = "N packets: the model's windows are real numbers, N windows are whole packets."


def scenario(flows: int, threshold: int, seconds: float, replications: int) -> Scenario:
    """Flows of one round-trip time. RED with a probability that steps from 0 to 1 at the threshold
    gives step marking."""
    step = {
        "name": "red", "min_th": f"{threshold - 1} packets", "max_th": f"{threshold} packets",
        "max_p": 1.0, "w_q": 1.0, "wait": False,
    }  # fmt: skip
    return from_dict(
        {
            "name": f"DCTCP, {flows} flows",
            "duration": f"{10 + seconds} s",
            "warmup": "10 s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{RTT} s"],
                "bottleneck": {
                    "rate": f"{RATE} bit/s",
                    "delay": "1 ms",
                    "buffer": "1000 packets",
                    "aqm": step,
                },
                "access": {"rate": "10 Gbit/s"},
            },
            "transport": {"default": {"control": "dctcp", "ecn": True, "delayed_ack": "0 s"}},
            "traffic": [{"kind": "tcp", "count": flows}],
        }
    )


def checks(
    bench: TaskRunner, flows: int, threshold: int, seconds: float, replications: int
) -> list[Check]:
    """Checks of three figures of the saw-tooth."""
    link = bench.run(scenario(flows, threshold, seconds, replications)).link()
    figures = link.figures()
    # The pipe includes the packet in transmission.
    in_flight = RATE * RTT / (8 * PACKET) + 1
    w_star = (in_flight + threshold) / flows
    alpha = dctcp_alpha(w_star)
    # Windows grow by one per round trip: the amplitude is also the length of a cycle, T_C.
    swing = (w_star + 1) * alpha / 2
    what = f"{flows} flow{'s' * (flows > 1)}, K = {threshold}"
    mean = threshold + flows - flows * swing / 2
    return [
        Check(f"{what}: share of marks", "alpha, Alizadeh et al. (6)", figures["mark_ratio"],
              alpha, alpha / (2 * swing), ALPHA_BECAUSE),
        # The saw-tooth is uniformly distributed over its amplitude.
        Check(f"{what}: amplitude of the queue", "Alizadeh et al. (8)",
              figures["queue_std"].scaled(math.sqrt(12)), flows * swing, float(flows),
              QUEUE_BECAUSE, unit="packets"),
        Check(f"{what}: mean queue", "Alizadeh et al. (10)", figures["queue_mean"], mean,
              float(flows), QUEUE_BECAUSE, unit="packets"),
        Check(f"{what}: utilization", "K > C RTT/7", figures["utilization"], 1.0, 0.001,
              "A thousandth: the threshold is above the least that keeps the link busy."),
    ]  # fmt: skip


def tasks(effort: Effort) -> list[Task]:
    """A task per number of flows and threshold, both above C RTT/7."""
    seconds, replications = effort.pick(100.0, 30.0), effort.pick(8, 4)
    per_second = RATE / 8 / PACKET * 1.2e-6
    return [
        Task(f"{n} flows, K = {k}", per_second * seconds * replications,
             partial(checks, flows=n, threshold=k, seconds=seconds, replications=replications))
        for n in (1, 2, 4, 8)
        for k in effort.pick((20, 40), (20,))
    ]  # fmt: skip


DCTCP = Rung(
    "dctcp",
    "DCTCP's alpha and queue",
    f"Flows of one round trip of {RTT * 1e3:g} ms share {RATE / 1e6:g} Mbit/s and a queue that "
    "marks by steps at K packets. The model takes all flows for synchronised.",
    tasks,
)
