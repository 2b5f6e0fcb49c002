"""What the traffic of a plan asks of its links: a bundle for each entry of the traffic and each of
its routes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from marqueue.scenario.hybrid.progressive_filling import Array, Crossings
from marqueue.scenario.parameters import resolved_tcp

Plan = Mapping[str, Any]

NS = 1e9

QUIC_OVERHEAD = 60
"""Bytes of a full packet of QUIC that are no data (crates/sim/src/quic_plan.rs)."""
ANSWER = 40
"""Size of an acknowledgement of TCP without options, and of what other receivers are taken to
answer to every packet, bytes."""


@dataclass(frozen=True)
class Sender:
    """What one entry of the traffic asks for on one route."""

    entry: int
    """Its index in the plan's traffic."""
    route: int
    flows: float
    packet: float
    """Size of a data packet on the wire, bytes."""
    payload: float = 1.0
    """What a receiver counts of a byte on the wire, without the headers that it does not count."""
    answers: float = 1.0
    """Acknowledgements for each data packet."""
    wanted: float = np.inf
    """The most that all its flows together take, bit/s."""
    yields: bool = True
    """Whether it takes what others leave. Those that do not, do not ask for less if the network is
    full."""
    by_rtt: bool = False
    """Whether a flow gets less, the longer its round trip takes."""


@dataclass(frozen=True)
class Bundles:
    """The senders of a plan and the links that they cross."""

    senders: tuple[Sender, ...]
    crossings: Crossings
    packets: Array
    """The size of the packets of each entry of the crossings, bytes."""
    rtts: Array
    """Propagation delay of the round trip of each sender, s, at least a microsecond."""

    @classmethod
    def of(cls, plan: Plan, routes: list[tuple[list[int], list[int]]]) -> "Bundles":
        """The bundles of a plan whose routes, forward and reverse, cross these links."""
        senders = tuple(_senders(plan))
        delays = np.array([link["delay"] / NS for link in plan["links"]])
        ways = [chain(*routes[each.route]) for each in senders]
        sizes = np.array([[len(way) for way in routes[each.route]] for each in senders], dtype=int)
        first = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        links = np.fromiter(chain.from_iterable(ways), int, first[-1])
        shares = [(1.0, each.answers * ANSWER / each.packet) for each in senders]
        packets = [(each.packet, float(ANSWER)) for each in senders]
        rtts = np.add.reduceat(delays[links], first[:-1])
        crossings = Crossings(first, links, _in_both_directions(shares, sizes))
        return cls(senders, crossings, _in_both_directions(packets, sizes), np.maximum(rtts, 1e-6))

    def column(self, name: str) -> Array:
        """An attribute of all senders as an array."""
        return np.array([getattr(each, name) for each in self.senders])


def _in_both_directions(values: list[tuple[float, float]], sizes: Array) -> Array:
    """The values of senders for data and for acknowledgements, repeated for the links of each
    direction."""
    return np.repeat(np.array(values).ravel(), sizes.ravel())


def _senders(plan: Plan) -> Iterator[Sender]:
    """The senders of all entries of the traffic."""
    tcp = [_tcp(each) for each in plan["transports"]]
    for i, entry in enumerate(plan["traffic"]):
        [(kind, given)] = entry["kind"].items()
        match kind:
            case "tcp":
                of, write = tcp[given["transport"]], given.get("write")
                route, count, wanted = given["route"], given["count"], np.inf
                # What it writes first may be there all the time.
                if write and not write.get("first"):
                    each = 8 * of["packet"] * write["packets"] * NS / write["every"]
                    wanted = count * each
                yield Sender(i, route, count, wanted=wanted, by_rtt=True, **of)
            case "poisson":
                of = tcp[given["transport"]]
                weights = given.get("weights") or [1.0] * len(given["routes"])
                bits, total = given["rate"] * given["size"] * 8 * of["packet"], sum(weights)
                for route, weight in zip(given["routes"], weights, strict=True):
                    wanted = bits * weight / total
                    yield Sender(i, route, 1, wanted=wanted, yields=False, **of)
            case _:
                yield _other(i, kind, given)


def _tcp(transport: Plan) -> dict[str, float]:
    """What flows of a transport have in common."""
    values = resolved_tcp(transport["preset"], transport["params"])
    segment = float(str(values["segment"]))
    packet = segment + float(str(values["header"])) * bool(values["count_header"])
    # A receiver that may wait for a second segment nearly always has one.
    every = float(str(values["ack_every"])) if float(str(values["delayed_ack"])) > 0 else 1.0
    return {"packet": packet, "payload": segment / packet, "answers": 1 / every}


def _other(i: int, kind: str, given: Plan) -> Sender:
    """The sender of an entry without TCP."""
    route, count = given["route"], given.get("count", 1)
    match kind:
        case "cbr":
            wanted = float(count * given["rate"])
            return Sender(i, route, count, given["packet"], wanted=wanted, yields=False, answers=0)
        case "recorded":
            sizes = [size for _, size in given["packets"]]
            lasts = max(given["packets"][-1][0] / NS, 1e-9)
            packet, wanted = sum(sizes) / len(sizes), 8 * count * sum(sizes) / lasts
            return Sender(i, route, count, packet, wanted=wanted, yields=False, answers=0)
        case "packets":
            wanted = given["rate"] * 8 * given["packet"]
            return Sender(i, route, 1, given["packet"], wanted=wanted, yields=False, answers=0)
        case "media":
            wanted = float(count * given["encoder"]["max_rate"])
            return Sender(i, route, count, given["packet"], wanted=wanted)
        case "quic":
            packet = given["packet"]
            payload = 1 - QUIC_OVERHEAD / packet
            if given.get("arrivals"):
                wanted = given["arrivals"] * 8 * given["size"] / payload
                return Sender(i, route, 1, packet, payload, wanted=wanted, yields=False)
            wanted = float(count * given["rate"]) / payload if given.get("rate") else np.inf
            return Sender(i, route, count, packet, payload, wanted=wanted, by_rtt=True)
        case _:
            return Sender(i, route, count, given["packet"])
