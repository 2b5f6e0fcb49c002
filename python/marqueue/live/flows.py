"""The real hosts and flows for the traffic of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Any

import numpy as np

from marqueue.live import kernel, requirements
from marqueue.scenario.catalogue import timestamps_bytes
from marqueue.scenario.parameters import resolved_tcp

#: Linux's names of the simulator's window laws.
LAWS = {"reno": "reno", "cubic": "cubic", "dctcp": kernel.dctcp_name()}
NEAR, FAR = (198 << 24) + (18 << 16), (198 << 24) + (19 << 16)
"""Networks for measurements (RFC 2544): the first for senders, the second for receivers."""
FIRST = 256
"""The first host number. Linux sends to IPv6 multicast groups unasked; their numbers are
smaller."""
PORTS = 20_000
"""The first sender port; each flow has its own."""
LEAST_MTU = 576
"""The packet size that every path must carry, bytes (RFC 1122, section 3.3.3)."""
UDP, TCP = 28, 40
"""Headers of IPv4 and TCP, bytes."""
LONGER = 20
"""How much longer the header of IPv6 is than that of IPv4, bytes."""
LARGEST = 65_535
"""The largest packet, bytes."""
ECN = {"ect": 2, "ect1": 1}
"""The ECN field of UDP packets by its name in plans (RFC 3168, section 5)."""


@dataclass(frozen=True)
class Host:
    """A pair of addresses: the sender and the receiver of one traffic entry on one route."""

    number: int
    """The last 16 bits of both addresses."""
    entry: int
    """Index of the entry in the plan's traffic."""
    route: int
    """Index of the route in the plan."""
    wire: int
    """Size of the largest packet, bytes."""
    payload: int
    """Payload of a full packet, bytes."""
    ecn: bool = False
    window: int = 10
    """Initial window, packets."""
    ipv6: bool = False
    class_: int = 0
    """Processing class of its packets."""
    resets_ecn: bool = False
    """Whether packets cross the network with an ECN field that begins with 00 (DRQ)."""

    @property
    def near(self) -> str:
        """Address of the sender."""
        return self._address(NEAR)

    @property
    def far(self) -> str:
        """Address of the receiver."""
        return self._address(FAR)

    @property
    def headers(self) -> int:
        """Of IP and TCP without options, bytes."""
        return TCP + LONGER * self.ipv6

    def _address(self, network: int) -> str:
        own = network + self.number
        return str(requirements.PREFIX6 + own if self.ipv6 else IPv4Address(own))


@dataclass(frozen=True)
class Flow:
    """A flow of TCP or of UDP packets."""

    index: int
    """Index among all flows: the row of the flow in the table; it determines the port."""
    kind: str
    """The kind of its traffic in the plan: tcp, poisson, cbr, packets or paced."""
    host: Host
    law: str
    """Linux's name of the window law; empty for UDP."""
    start: float
    """Start time, s."""
    stop: float
    """Stop time, s."""
    dscp: int
    seed: int = 0
    """Seed of what its sender draws."""
    size: int = 0
    """Packets to send; 0: unlimited."""
    write: Mapping[str, Any] | None = None
    """How the application writes its data (the plan's); None: all of it is there from the start."""
    gap: float = 0
    """Mean time between two UDP packets of a sender without control, s."""
    sizes: Any = "constant"
    """Distribution of the sizes of such packets (the plan's)."""
    ecn: int = 0
    """ECN field of such packets."""
    trace: bool = False

    @property
    def greedy(self) -> bool:
        """Whether this is a TCP flow without an end that always has data to send."""
        return self.kind == "tcp" and not self.size and self.write is None

    @property
    def port(self) -> int:
        """The port of the sender. Flows without an end use it at the receiver, too."""
        return PORTS + self.index


def hosts_of(plan: Mapping[str, Any], *, ipv6: bool = False) -> list[Host]:
    """A pair of addresses for each traffic entry of the plan and each of its routes."""
    out: list[Host] = []
    for entry, group in enumerate(plan["traffic"]):
        [(kind, settings)] = group["kind"].items()
        routes = settings["routes"] if kind == "poisson" else [settings["route"]]
        for route in routes:
            place = FIRST + len(out), entry, route
            if kind in ("cbr", "packets", "paced"):
                host = _host_of_udp(place, settings, ipv6)
            else:
                transport = plan["transports"][settings["transport"]]
                host = _host_of_tcp(place, transport, ipv6)
            out.append(replace(host, class_=group.get("class", 0)))
    return out


def _host_of_udp(place: tuple[int, int, int], settings: Mapping[str, Any], ipv6: bool) -> Host:
    size, least = settings["packet"], requirements.LEAST6 if ipv6 else LEAST_MTU
    wire = max(size, least) if settings.get("size", "constant") == "constant" else LARGEST
    return Host(*place, wire=wire, payload=size - UDP - LONGER * ipv6, ipv6=ipv6)


def _host_of_tcp(place: tuple[int, int, int], transport: Mapping[str, Any], ipv6: bool) -> Host:
    tcp = resolved_tcp(transport["preset"], transport["params"])
    segment = int(float(str(tcp["segment"])))
    timestamps = timestamps_bytes() * bool(tcp["timestamps"])
    header = int(float(str(tcp["header"]))) + timestamps if tcp["count_header"] else 0
    wire = segment + header
    return Host(
        *place,
        wire=wire,
        payload=wire - TCP - LONGER * ipv6 - timestamps,
        ecn=bool(tcp["ecn"]),
        window=int(float(str(tcp["initial_window"]))),
        ipv6=ipv6,
        resets_ecn=tcp["ecn_field"] == "initial",
    )


def flows_of(
    plan: Mapping[str, Any], seed: int, law: str | None, *, ipv6: bool = False
) -> list[Flow]:
    """All flows of a replication. Random start times are drawn from ``seed``. ``law`` replaces the
    window law of every flow."""
    hosts: dict[int, list[Host]] = {}
    for host in hosts_of(plan, ipv6=ipv6):
        hosts.setdefault(host.entry, []).append(host)
    end = plan["duration"] / 1e9
    flows: list[Flow] = []
    for entry, group in enumerate(plan["traffic"]):
        [(kind, settings)] = group["kind"].items()
        # Each entry has its own random stream, so that entries do not affect each other.
        rng = np.random.default_rng([seed, 0x11FE, entry])
        until = end if settings["stop"] is None else min(settings["stop"] / 1e9, end)
        own = {
            **{"kind": kind, "law": "", "dscp": group.get("dscp", 0), "stop": until},
            **_settings_of(plan, kind, settings, law),
        }
        if kind == "poisson":
            for start, host, size in _arrivals(rng, settings, hosts[entry], until):
                flows.append(
                    Flow(len(flows), host=host, start=start, size=size, **own | {"stop": end})
                )
            continue
        for number in range(settings.get("count", 1)):
            start = (settings["start"] + rng.uniform() * settings.get("jitter", 0)) / 1e9
            draws = int(np.random.SeedSequence([seed, 0x11FF, entry, number]).generate_state(1)[0])
            if start < end:
                one = Flow(len(flows), host=hosts[entry][0], start=start, seed=draws, **own)
                flows.append(one)
    return flows


def _settings_of(
    plan: Mapping[str, Any], kind: str, settings: Mapping[str, Any], law: str | None
) -> dict[str, Any]:
    """The fields of :class:`Flow` that are the same for all flows of an entry of this kind."""
    if kind == "paced":
        return {"trace": settings.get("trace", False)}
    if kind in ("cbr", "packets"):
        per_second = settings["rate"]
        if kind == "cbr":
            per_second /= settings["packet"] * 8
        sizes = settings.get("size", "constant")
        return {"gap": 1 / per_second, "sizes": sizes, "ecn": ECN.get(settings.get("ecn", ""), 0)}
    transport = plan["transports"][settings["transport"]]
    tcp = resolved_tcp(transport["preset"], transport["params"])
    own: dict[str, Any] = {"law": law or LAWS[str(tcp["control"])]}
    if kind == "tcp":
        own |= {"size": settings["size"] or 0, "trace": settings["trace"]}
        own["write"] = settings["write"]
    return own


def _arrivals(
    rng: np.random.Generator, settings: Mapping[str, Any], hosts: list[Host], until: float
) -> Iterator[tuple[float, Host, int]]:
    """A Poisson process of flows: start time, host and size in packets of each."""
    at = settings["start"] / 1e9
    while (at := at + rng.exponential(1 / settings["rate"])) < until:
        yield at, hosts[rng.integers(len(hosts))], _size(rng, settings)


def _size(rng: np.random.Generator, settings: Mapping[str, Any]) -> int:
    mean: int = settings["size"]
    law = settings.get("law", "constant")
    if law == "constant":
        return mean
    shape: float = law["pareto"]["shape"]
    least, share = mean * (shape - 1) / shape, 1 - float(rng.uniform())
    return max(round(least * float(share ** (-1 / shape))), 1)


def hosts_by_number(hosts: Sequence[Host]) -> list[tuple[int, int, bool] | None]:
    """Route, processing class and reset of the ECN field of each host number, as the engine expects
    them; lower numbers are in no use."""
    return [*[None] * FIRST, *((host.route, host.class_, host.resets_ecn) for host in hosts)]
