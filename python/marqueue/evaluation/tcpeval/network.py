"""Topologies of the common TCP evaluation suite, and its traffic.

Data goes from right to left unless a group has ``direction = "reverse"``, as the suite states its
loads. The link "bottleneck" is the central one in that direction, "back" the other direction.

The suite's traffic is nine traces of connections that were recorded on a campus (Tmix). They are
not a part of this project. In their place connections arrive as a Poisson process and have Pareto
sizes, the model of the suite's appendix A: the load A = E[f] / E[t] is mean size over mean time
between arrivals. As in the traces, one connection in ten has packets of 536 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marqueue.evaluation.case import Effort
from marqueue.evaluation.transports import Table, settings
from marqueue.scenario import Scenario, from_dict

MBIT = 1e6
PACKET, SMALL_PACKET = 1500, 536
"""Bytes on the wire."""
SEGMENT, SMALL_SEGMENT = 1448, 484
"""Their payload, beside headers and timestamps."""
SMALL_SHARE = 0.1
"""Share of connections with small packets (2.4)."""
MEAN, SHAPE = 30, 1.5
"""Mean size of a connection, full packets, and the shape of its Pareto distribution. Web transfers
have 1.2 or less, but then the load of a run of a minute is anywhere."""
SMALL_MEAN = round(MEAN * SEGMENT / SMALL_SEGMENT)

LEFT, RIGHT = (0.0, 12.0, 25.0), (2.0, 37.0, 75.0)
"""One-way delays of the edge links, ms (4.1): round trips of 4 to 200 ms."""
MEAN_RTT = 100.0
"""Their mean with a central delay of 0, ms."""

NO_SLOW_START = " without slow start"
"""Ending of the name of a transport whose connections begin in congestion avoidance (5.2.2)."""


@dataclass(frozen=True)
class Edge:
    """An edge link with its node."""

    node: str
    router: str
    delay: float
    """ms."""
    rate: float
    """Mbit/s."""

    def link(self, service: float) -> Table:
        """The link; senders' are jittered by half a service time of the bottleneck, s, so that no
        phase effects decide who loses."""
        jitter = {"jitter": f"{service / 2:.9f} s"} if self.router == "right" else {}
        return {
            "name": f"edge {self.node}", "from": self.node, "to": self.router,
            "rate": f"{self.rate:g} Mbit/s", "delay": f"{self.delay:g} ms", **jitter,
        }  # fmt: skip


def edges(rate: float, left: Sequence[float] = LEFT, right: Sequence[float] = RIGHT) -> list[Edge]:
    """The edge links of nodes 1 to 3 on the left and 4 to 6 on the right."""
    return [
        *(Edge(str(i), "left", delay, rate) for i, delay in enumerate(left, 1)),
        *(Edge(str(i), "right", delay, rate) for i, delay in enumerate(right, 4)),
    ]


PATHS = [f"{right}-{left}" for right in (4, 5, 6) for left in (1, 2, 3)]
"""The classes between all nodes on the right and on the left."""


@dataclass(frozen=True)
class Central:
    """A central link in both directions."""

    rate: float
    """From right to left, Mbit/s."""
    delay: float
    """One way, ms."""
    buffer: float
    """ms of the rate, or packets if :attr:`in_packets`."""
    back_rate: float | None = None
    """From left to right; by default the same."""
    back_buffer: float | None = None
    in_packets: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Keys of both directions, such as jitter."""

    @property
    def back(self) -> float:
        """The rate from left to right, Mbit/s."""
        return self.rate if self.back_rate is None else self.back_rate

    @property
    def service(self) -> float:
        """Transmission time of a full packet, s."""
        return 8 * PACKET / (self.rate * MBIT)

    def links(self) -> list[Table]:
        """Both directions."""

        def one(name: str, begin: str, end: str, rate: float, buffer: float) -> Table:
            size = buffer if self.in_packets else rate * MBIT * buffer / 1e3 / 8 / PACKET
            return {
                "name": name, "from": begin, "to": end, "rate": f"{rate:g} Mbit/s",
                "delay": f"{self.delay:g} ms", "buffer": f"{max(2, round(size))} packets",
                "packet": f"{PACKET} B", "duplex": False, **self.extra,
            }  # fmt: skip

        back = self.buffer if self.back_buffer is None else self.back_buffer
        return [
            one("bottleneck", "right", "left", self.rate, self.buffer),
            one("back", "left", "right", self.back, back),
        ]


def background(
    load: float, rate: float, *, name: str = "", transport: str = "new", **more: Any
) -> list[Table]:
    """Connections that offer this share of a rate, Mbit/s. Their groups are ``name`` followed by
    "large" and "small", the packet sizes."""
    large, small = 8.0 * MEAN * PACKET, 8.0 * SMALL_MEAN * SMALL_PACKET
    arrivals = load * rate * MBIT / ((1 - SMALL_SHARE) * large + SMALL_SHARE * small)
    prefix = f"{name} " if name else ""
    return [
        {
            "kind": "poisson", "name": f"{prefix}{word}", "rate": f"{share * arrivals:.9g} /s",
            "size": f"{size} packets", "sizes": "pareto", "shape": SHAPE, "classes": PATHS,
            "transport": f"{transport}{suffix}", **more,
        }
        for word, share, size, suffix in (
            ("large", 1 - SMALL_SHARE, MEAN, ""), ("small", SMALL_SHARE, SMALL_MEAN, " small"),
        )
    ]  # fmt: skip


def both_ways(load: float, central: Central, ratio: float, **more: Any) -> list[Table]:
    """Connections of a load from right to left, and ``ratio`` times as much in bit/s from left to
    right."""
    there = background(load, central.rate, **more)
    back = background(load * ratio, central.rate, name="back", **(more | {"direction": "reverse"}))
    return [*there, *back]


def scenario(
    title: str,
    about: str,
    control: str,
    effort: Effort,
    links: Sequence[Table],
    classes: Sequence[Table],
    traffic: Sequence[Table],
    *,
    seconds: tuple[float, float],
    warmup: tuple[float, float],
) -> Scenario:
    """A scenario; ``seconds`` are measured, after ``warmup``, in the full and in the quick form."""
    before = effort.pick(*warmup)
    transport = {
        name + suffix: settings(which) | more
        for name, which in (("new", control), ("standard", "reno"))
        for suffix, more in (
            ("", {}),
            (" small", {"segment": f"{SMALL_SEGMENT} B"}),
            (NO_SLOW_START, {"initial_ssthresh": "10 packets"}),
        )
    }
    used = {each.get("transport") for each in traffic}
    return from_dict(
        {
            "name": title,
            "description": about,
            "duration": f"{before + effort.pick(*seconds):g} s",
            "warmup": f"{before:g} s",
            "replications": effort.pick(10, 5),
            "topology": {"kind": "graph", "links": list(links), "classes": list(classes)},
            "transport": {name: table for name, table in transport.items() if name in used},
            "traffic": list(traffic),
        }
    )


def dumbbell(
    title: str,
    about: str,
    control: str,
    effort: Effort,
    central: Central,
    ends: Sequence[Edge],
    pairs: Mapping[str, tuple[str, str]],
    traffic: Sequence[Table],
    **times: tuple[float, float],
) -> Scenario:
    """Figure 2 of the suite: edge links of nodes, and the central link. ``pairs`` are further
    classes with their two nodes."""
    nodes = {each.node for each in ends}
    wanted = {path: tuple(path.split("-")) for path in PATHS} | dict(pairs)
    classes = [
        {"name": name, "from": begin, "to": end}
        for name, (begin, end) in wanted.items()
        if {begin, end} <= nodes
    ]
    links = [*central.links(), *(each.link(central.service) for each in ends)]
    return scenario(title, about, control, effort, links, classes, traffic, **times)
