"""Criteria of RFC 9743, section 5: one control alone, and beside others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.criterion import Criterion
from marqueue.evaluation.measures import (
    LOSS,
    MARKS,
    UTILIZATION,
    Measure,
    delay,
    delay_p99,
    delay_variation,
    fairness,
    goodput,
    packet_loss,
)
from marqueue.evaluation.rfc9743 import limits
from marqueue.evaluation.rfc9743.measures import (
    SHORT,
    equal_share,
    new_goodput,
    packets_per_round_trip,
    round_trips_of_queue,
)
from marqueue.evaluation.rfc9743.setup import RTT, flows, path
from marqueue.scenario import Scenario

COMMON = (delay(), delay_p99(), UTILIZATION, LOSS, MARKS, new_goodput())
SHORTS = {"kind": "poisson", "name": "short", "rate": "5 /s", "size": "30 packets"}
"""Short flows: 1.8 Mbit/s in all."""


def case(
    name: str,
    section: str,
    title: str,
    about: str,
    traffic: Sequence[dict[str, Any]],
    criteria: Sequence[Criterion],
    measures: Sequence[Measure] = (),
    **how: Any,
) -> Case[str]:
    """A case with one run; ``how`` goes to :func:`~marqueue.evaluation.rfc9743.setup.path`."""

    def runs(control: str, effort: Effort) -> Mapping[str, Scenario]:
        return {MAIN: path(title, about, control, traffic, effort, **how)}

    return Case(name, section, title, about, runs, (*COMMON, *measures), lambda control: criteria)


def alone() -> Iterator[Case[str]]:
    """Section 5.1."""
    yield case(
        "congestion-collapse", "5.1.1", "Protection against congestion collapse",
        "One flow over a path that loses half of all packets at random.",
        [flows("new")], [limits.backs_off()], [packets_per_round_trip(RTT / 1e3)],
        link={"loss": "50%"},
    )  # fmt: skip
    yield case(
        "bufferbloat", "5.1.2", "Protection against bufferbloat",
        "One flow and a buffer of eight bandwidth-delay products.",
        [flows("new")], [limits.no_bloat(), limits.uses_the_link()],
        [round_trips_of_queue(RTT / 1e3)], buffer=8.0,
    )  # fmt: skip
    yield case(
        "high-loss", "5.1.3", "Protection against high packet loss",
        "Four flows and a buffer of half a bandwidth-delay product.",
        [flows("new", 4)], [limits.no_more_loss(), limits.uses_the_link()], buffer=0.5,
    )  # fmt: skip
    yield case(
        "self-fairness", "5.1.4", "Fairness within the algorithm",
        "Four flows that start within a second.",
        [flows("new", 4)], [limits.fair_among_themselves()], [fairness("new")],
    )  # fmt: skip
    yield case(
        "late-comer", "5.1.4", "Fairness to a flow that comes later",
        "Three flows, and from 10 s on a fourth. The measurements begin 10 s later.",
        [flows("new", 3), flows("late", start="10 s")],
        [limits.makes_room()],
        [equal_share("late share", "late", "Goodput of the late flow over an equal share", 4)],
        warmup=20.0,
    )  # fmt: skip
    yield case(
        "short-flows", "5.1.5", "Short flows of the algorithm",
        "Two long flows, and five flows of 30 packets a second, all of the control.",
        [flows("new", 2), {**SHORTS, "transport": "new"}],
        [limits.short_flows_unharmed(), limits.uses_the_link()], [SHORT],
    )  # fmt: skip


def _beside(standard: str, transport: str, buffer: float) -> Case[str]:
    name = f"beside-{standard}{'-deep' if buffer > 1 else ''}"
    word = "one bandwidth-delay product" if buffer == 1 else f"{buffer:g} bandwidth-delay products"
    shown = {"cubic": "CUBIC", "reno": "Reno"}[standard]
    return case(
        name, "5.2.1", f"Beside {shown}, buffer of {word}",
        f"One flow of the control and one {shown} flow; the buffer has {word}.",
        [flows("new"), flows("standard", transport=transport)],
        [limits.no_harm("goodput of standard"), limits.no_starvation("standard share")],
        [
            goodput("standard"),
            equal_share("standard share", "standard", "Standard flow over an equal share", 2),
        ],
        buffer=buffer, seconds=(180.0, 80.0),
    )  # fmt: skip


def mixed() -> Iterator[Case[str]]:
    """Section 5.2."""
    yield _beside("cubic", "standard", 1.0)
    yield _beside("cubic", "standard", 4.0)
    yield _beside("reno", "reno", 1.0)
    yield case(
        "real-time", "5.2.2", "Beside real-time flows",
        "Two flows of the control, a call of 80 kbit/s and a video of 2 Mbit/s, both of constant "
        "rate.",
        [
            flows("new", 2),
            {"kind": "cbr", "name": "call", "rate": "80 kbit/s", "packet": "200 B"},
            {"kind": "cbr", "name": "video", "rate": "2 Mbit/s", "packet": "1200 B"},
        ],
        [
            limits.real_time_unharmed("pdv of call"), limits.real_time_unharmed("delay_mean"),
            limits.real_time_unharmed("loss of video"),
        ],
        [delay_variation("call"), packet_loss("call"), packet_loss("video")], trace=True,
    )  # fmt: skip
    yield case(
        "short-and-long", "5.2.3", "Beside short and long standard flows",
        "A long flow of the control, a long CUBIC flow, and five CUBIC flows of 30 packets a "
        "second.",
        [
            flows("new"), flows("standard", transport="standard"),
            {**SHORTS, "transport": "standard"},
        ],
        [limits.short_flows_unharmed(), limits.no_harm("goodput of standard")],
        [SHORT, goodput("standard")],
    )  # fmt: skip
