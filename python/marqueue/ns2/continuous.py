"""Dumbbells with a round-trip time for each flow, drawn once from a distribution.

Both simulators get the same list: every flow is a class of its own, with its own access links.
"""

from collections.abc import Mapping
from typing import Any

from marqueue.ns2.case import Case, Queue, avq, droptail, red
from marqueue.ns2.drawn_rtts import drawn
from marqueue.ns2.small_buffer import UNIFORM, queue

#: Laws of round-trip times by name; none is shorter than the 20 ms of the shared path.
LAWS: Mapping[str, Mapping[str, Any]] = {
    "uniform 120 to 280 ms": UNIFORM,
    "uniform 190 to 210 ms": {"uniform": ["190 ms", "210 ms"]},
    "uniform 30 to 90 ms": {"uniform": ["30 ms", "90 ms"]},
    "exponential 100 ms": {"exponential": "100 ms", "least": "30 ms"},
    "lognormal 80 ms": {"lognormal": "80 ms", "sigma": 0.6, "least": "30 ms"},
}


def continuous(
    name: str,
    managed: Queue,
    flows: int,
    law: str,
    tcp: str = "newreno",
    ecn: bool = True,
    each: int = 100_000,
    segment: int = 500,
) -> Case:
    """Flows with ``each`` bit/s per flow and a round-trip time of their own."""
    title = f"{name}, {tcp}, {flows} flows, {law}"
    return Case(
        title,
        managed,
        tcp,
        ecn=ecn,
        flows=flows,
        rtts=drawn(LAWS[law], flows, title),
        rate=each * flows,
        delay=0.005,
        far=0.005,
        segment=segment,
        jitter=5.0,
        duration=40.0,
        edges=(15.0,),
    )


CONTINUOUS = [
    continuous("RED1", queue("RED1", 50), 50, "uniform 120 to 280 ms"),
    continuous("RED1", queue("RED1", 200), 200, "uniform 120 to 280 ms"),
    continuous("RED1", queue("RED1", 400), 400, "uniform 120 to 280 ms"),
    continuous("RED1", queue("RED1", 200), 200, "uniform 190 to 210 ms"),
    continuous("RED2", queue("RED2", 100), 100, "uniform 120 to 280 ms"),
    continuous("RED2", queue("RED2", 200), 200, "exponential 100 ms"),
    continuous(
        "RED1 gentle", queue("RED1", 200, gentle=True), 200, "uniform 120 to 280 ms", "sack"
    ),
    continuous(
        "RED1 gentle, averaged",
        queue("RED1", 100, weight=0.002, gentle=True),
        100,
        "lognormal 80 ms",
    ),
    continuous("red ecn", red(100, 20, 60, packet=500), 60, "lognormal 80 ms", "sack"),
    continuous(
        "red drop",
        red(100, 15, 45, signal="drop", packet=500),
        150,
        "uniform 30 to 90 ms",
        "sack",
        ecn=False,
    ),
    continuous("droptail", droptail(100), 80, "uniform 30 to 90 ms", ecn=False, each=200_000),
    continuous("droptail", droptail(60), 50, "uniform 190 to 210 ms", ecn=False),
    continuous("droptail", droptail(200), 200, "exponential 100 ms", "sack", ecn=False),
    continuous("droptail", droptail(300), 400, "lognormal 80 ms", "reno", ecn=False),
    continuous("avq", avq(100), 100, "uniform 30 to 90 ms", "reno", segment=1000),
]
