"""Paths of RFC 9743: general use (section 6) and special cases (section 7)."""

from __future__ import annotations

from collections.abc import Iterator

from marqueue.evaluation.case import Case
from marqueue.evaluation.measures import fairness
from marqueue.evaluation.rfc9743 import limits
from marqueue.evaluation.rfc9743.criteria import case
from marqueue.evaluation.rfc9743.measures import new_goodput, round_trips_of_queue
from marqueue.evaluation.rfc9743.setup import flows

ONE = "One flow"
EVENT = (20.0, 30.0)
"""Begin and end of an event, s; the phase after it is measured from its end on."""
AFTER = new_goodput("after", 3)


def cases() -> Iterator[Case[str]]:
    """Sections 6 and 7, as far as a scenario can show them."""
    yield case(
        "random-loss", "6.4", "Wireless paths: random loss",
        f"{ONE} over a path that loses one packet in a hundred at random.",
        [flows("new")], [limits.uses_the_link()], link={"loss": "1%"},
    )  # fmt: skip
    yield case(
        "varying-capacity", "6.4", "Wireless paths: varying capacity",
        f"{ONE}; the capacity is 20 and 8 Mbit/s in turn, for 2 s each.",
        [flows("new")], [limits.uses_the_link()], seconds=(40.0, 40.0),
        link={
            "schedule": [
                {"at": f"{2 * i} s", "rate": f"{8 if i % 2 else 20} Mbit/s"} for i in range(1, 25)
            ]
        },
    )  # fmt: skip
    for aqm in ("codel", "pie", "fq_codel"):
        yield case(
            f"under-{aqm.replace('_', '-')}", "7.1", f"Under {aqm}",
            f"Four flows through {aqm} with its defaults, and a buffer of four bandwidth-delay "
            "products.",
            [flows("new", 4)], [limits.uses_the_link(), limits.fair_among_themselves()],
            [fairness("new")], buffer=4.0, link={"aqm": aqm},
        )  # fmt: skip
    yield case(
        "jitter", "7.3", "Paths with varying delay",
        f"{ONE}; each packet is delayed by a further 10 ms in the mean, in order.",
        [flows("new")], [limits.uses_the_link()], link={"jitter": "10 ms"},
    )  # fmt: skip
    yield case(
        "low-rate", "7.4", "Constrained nodes: 64 kbit/s",
        f"{ONE} over 64 kbit/s and 200 ms, with a buffer of ten packets.",
        [flows("new")], [limits.uses_the_link()], [round_trips_of_queue(0.2)],
        rate=0.064, rtt=200.0, buffer=10.0, seconds=(600.0, 200.0), warmup=30.0,
    )  # fmt: skip
    yield case(
        "high-delay", "7.5", "Paths with high delay: 560 ms",
        f"{ONE} over a satellite path of 560 ms.",
        [flows("new")], [limits.uses_the_link()], rtt=560.0, seconds=(180.0, 60.0), warmup=30.0,
    )  # fmt: skip
    yield case(
        "unresponsive", "7.6", "Misbehaving nodes: an unresponsive sender",
        "One flow beside UDP of 14 Mbit/s, seven tenths of the capacity.",
        [
            flows("new"),
            {"kind": "cbr", "name": "udp", "rate": "14 Mbit/s", "packet": "1500 B"},
        ],
        [limits.uses_the_link()],
    )  # fmt: skip
    yield case(
        "reordering", "7.7", "Extreme packet reordering",
        f"{ONE}; one packet in fifty is held back for 10 ms, so that others overtake it.",
        [flows("new")], [limits.uses_the_link()],
        link={"reorder": {"probability": 0.02, "delay": "10 ms"}},
    )  # fmt: skip
    begin, end = EVENT
    yield case(
        "onset", "7.8", "Transient events: sudden onset of congestion",
        "One flow; from 20 to 30 s UDP takes nine tenths of the capacity.",
        [
            flows("new"),
            {
                "kind": "cbr", "name": "udp", "rate": "18 Mbit/s", "packet": "1500 B",
                "start": f"{begin:g} s", "stop": f"{end:g} s", "jitter": "0 s",
            },
        ],
        [limits.recovers()], [AFTER], cuts=EVENT, seconds=(40.0, 40.0),
    )  # fmt: skip
    yield case(
        "path-change", "7.9", "Sudden changes in the path",
        "One flow; from 20 to 30 s the capacity is 4 Mbit/s instead of 20.",
        [flows("new")], [limits.recovers()], [AFTER], cuts=EVENT, seconds=(40.0, 40.0),
        link={
            "schedule": [
                {"at": f"{begin:g} s", "rate": "4 Mbit/s"},
                {"at": f"{end:g} s", "rate": "20 Mbit/s"},
            ]
        },
    )  # fmt: skip
    yield case(
        "data-centre", "7.11", "Data centres",
        "Eight flows over 1 Gbit/s and 0.2 ms. ECN-capable packets are marked from a queue of 20 "
        "packets on; the buffer has nine bandwidth-delay products.",
        [flows("new", 8, jitter="50 ms")],
        [limits.uses_the_link(), limits.fair_among_themselves()], [fairness("new")],
        rate=1000.0, rtt=0.2, buffer=9.0, seconds=(4.0, 1.0), warmup=0.5, fast=True,
        link={
            "signal": "ecn-only",
            "aqm": {
                "name": "red", "min_th": "20 packets", "max_th": "21 packets", "max_p": 1.0,
                "w_q": 1.0, "wait": False,
            },
        },
    )  # fmt: skip
