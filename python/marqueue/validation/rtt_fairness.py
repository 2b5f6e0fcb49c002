"""Goodput of flows with two round-trip times at one link.

If both lose the same share of their packets, both have the same window (the square-root law), and
rates are proportional to 1/RTT. If both lose packets at the same times, both windows grow for the
same time by one packet per round trip, and rates are proportional to 1/RTT^2. T. V. Lakshman and U.
Madhow, "The performance of TCP/IP for networks with high bandwidth-delay products and random loss",
IEEE/ACM ToN 5(3), 1997, find exponents between the two under droptail.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from marqueue.results import Result
from marqueue.scenario import from_dict
from marqueue.statistics.estimates import Estimate, Floats
from marqueue.validation.check import Check
from marqueue.validation.one_flow import PACKET_COST, lossy, windows
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

RTTS = 0.0417, 0.1213
"""Round-trip times, s; the difference is no multiple of the transmission time."""
PACKET = 1500
RATE = 10_000_000
WARMUP = 50.0

RANDOM_BECAUSE = (
    "0.05: windows have the same distribution, but a timeout takes the same second at either "
    "round-trip time."
)
RED_BECAUSE = (
    "0.2: RED spaces its losses, so that with few flows they depend a little on who sends."
)
DROPTAIL_BECAUSE = (
    "From 1, if all packets have the same loss probability, to 2, if flows lose together."
)

AQMS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "red": {
            "name": "red", "min_th": "5 packets", "max_th": "50 packets", "max_p": 0.02,
            "wait": False,
        },
        "droptail": {"name": "droptail"},
    }
)  # fmt: skip


def goodputs(result: Result) -> tuple[Floats, Floats]:
    """Goodput of the short and of the long round-trip time, bit/s, one value per replication."""
    short, long = (
        np.array([flows.rates.sum() for flows in result.flow_sets(class_=name)])
        for name in result.classes
    )
    return short, long


def over_random_losses(bench: TaskRunner, seconds: float, replications: int) -> list[Check]:
    """Both flows over a link with random losses."""
    scenario = lossy("two flows", {"model": "random", "probability": 0.002},
                     {"delayed_ack": "0 s"}, rtts=RTTS, seconds=seconds,
                     replications=replications)  # fmt: skip
    short, long = windows(bench.run(scenario), RTTS)
    exponent = 1 + np.log(short / long) / np.log(RTTS[1] / RTTS[0])
    return [
        Check("random losses, p = 0.002: exponent", "rates as 1/RTT at equal loss",
              Estimate.of(exponent), 1.0, 0.05, RANDOM_BECAUSE)
    ]  # fmt: skip


def at_a_queue(
    bench: TaskRunner, aqm: str, pairs: int, seconds: float, replications: int
) -> list[Check]:
    """Flows that share a bottleneck, with jitter to avoid phase effects (see that rung)."""
    service = 8 * PACKET / RATE
    scenario = from_dict(
        {
            "name": f"two round-trip times, {aqm}",
            "duration": f"{WARMUP + seconds} s",
            "warmup": f"{WARMUP} s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt} s" for rtt in RTTS],
                "bottleneck": {
                    "rate": f"{RATE} bit/s",
                    "delay": "10 ms",
                    "buffer": "50 packets",
                    "aqm": dict(AQMS[aqm]),
                    "signal": "drop",
                },
                "access": {"jitter": f"{service / 2} s"},
            },
            "transport": {"default": {"delayed_ack": "0 s"}},
            "traffic": [{"kind": "tcp", "count": 2 * pairs, "jitter": "3 s"}],
        }
    )
    result = bench.run(scenario)
    short, long = goodputs(result)
    # Mean jitter and mean queueing delay are part of every round-trip time.
    more = service / 2 + result.link().values("delay_mean")
    exponent = np.log(short / long) / np.log((RTTS[1] + more) / (RTTS[0] + more))
    what = f"{aqm}, {pairs} flow{'s' * (pairs > 1)} of each: exponent"
    figure = Estimate.of(exponent)
    if aqm == "droptail":
        law = "from 1/RTT to 1/RTT², Lakshman and Madhow"
        return [Check(what, law, figure, 1.5, 0.5, DROPTAIL_BECAUSE)]
    return [Check(what, "rates as 1/RTT at equal loss", figure, 1.0, 0.2, RED_BECAUSE)]


def tasks(effort: Effort) -> list[Task]:
    """Random losses, RED, droptail."""
    seconds, replications = effort.pick(600.0, 300.0), effort.pick(16, 8)
    packets = RATE / 8 / PACKET * seconds * replications
    return [
        Task("random losses", PACKET_COST * 900 * seconds * replications,
             partial(over_random_losses, seconds=seconds, replications=replications)),
        *(
            Task(f"{aqm}, {pairs} pairs", PACKET_COST * packets,
                 partial(at_a_queue, aqm=aqm, pairs=pairs, seconds=seconds,
                         replications=replications))
            for aqm in AQMS
            for pairs in effort.pick((1, 5), (1,))
        ),
    ]  # fmt: skip


RTT_FAIRNESS = Rung(
    "rtt-fairness",
    "goodput against round-trip time",
    f"Flows of {RTTS[0] * 1e3:g} and of {RTTS[1] * 1e3:g} ms; the exponent e of goodput as RTT^-e, "
    "the mean queueing delay being part of the round trip.",
    tasks,
)
