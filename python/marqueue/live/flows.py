"""Which real flows stand for those of a scenario, and what of it real senders do not do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from marqueue import kernel
from marqueue.errors import Problem, ScenarioError, show
from marqueue.scenario import Scenario
from marqueue.scenario.parameters import resolved_tcp
from marqueue.scenario.traffic import Tcp

#: What Linux calls the window laws of the simulator.
LAWS = {"reno": "reno", "cubic": "cubic", "dctcp": kernel.dctcp_name()}
#: Processes: one sends and one receives for each flow.
MOST_FLOWS = 100
#: Bytes of a packet on the wire, headers of IP and TCP included.
SMALLEST, LARGEST = 128, 65_535
NEAR, FAR = (198 << 24) + (18 << 16), (198 << 24) + (19 << 16)
"""Networks for measurements (RFC 2544): senders are in the first, receivers in the second."""
NO_ROUTE = 65_535
PORTS = 20_000
"""The first port; a flow has one at each end."""


@dataclass(frozen=True)
class Host:
    """A pair of addresses: what an entry of the plan's traffic sends from and to."""

    number: int
    """The last 16 bits of both addresses."""
    route: int
    """In the plan."""
    wire: int
    """Size of a full packet, bytes."""
    segment: int
    """Its payload, without the timestamps option."""
    ecn: bool
    window: int
    """Window after the handshake, packets."""

    @property
    def near(self) -> str:
        """Where it sends from."""
        return _dotted(NEAR + self.number)

    @property
    def far(self) -> str:
        """Where it sends to."""
        return _dotted(FAR + self.number)


@dataclass(frozen=True)
class Flow:
    """A TCP flow."""

    index: int
    """Among all flows: its row in the table, and its ports."""
    entry: int
    """In the plan's traffic."""
    host: Host
    law: str
    """As Linux calls it."""
    start: float
    """When it starts, s."""
    stop: float
    """When it is stopped, s."""
    dscp: int
    trace: bool

    @property
    def port(self) -> int:
        """The port of its sender and of its receiver."""
        return PORTS + self.index


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def hosts_of(plan: Mapping[str, Any]) -> list[Host]:
    """The pair of addresses of each entry of the plan's traffic, which all must be TCP."""
    out = []
    for i, entry in enumerate(plan["traffic"]):
        settings = entry["kind"]["tcp"]
        transport = plan["transports"][settings["transport"]]
        tcp = resolved_tcp(transport["preset"], transport["params"])
        payload, timestamps = int(float(str(tcp["segment"]))), 12 * bool(tcp["timestamps"])
        header = int(float(str(tcp["header"]))) + timestamps if tcp["count_header"] else 0
        wire = payload + header
        out.append(
            Host(
                number=i + 1,
                route=settings["route"],
                wire=wire,
                segment=wire - 40,
                ecn=bool(tcp["ecn"]),
                window=int(float(str(tcp["initial_window"]))),
            )
        )
    return out


def flows_of(plan: Mapping[str, Any], seed: int, law: str | None) -> list[Flow]:
    """All flows; where they start by chance they draw from ``seed``. ``law`` replaces every law."""
    rng = np.random.default_rng([seed, 0x11FE])
    duration = plan["duration"] / 1e9
    flows: list[Flow] = []
    for entry, host in enumerate(hosts_of(plan)):
        group = plan["traffic"][entry]
        settings = group["kind"]["tcp"]
        transport = plan["transports"][settings["transport"]]
        control = str(resolved_tcp(transport["preset"], transport["params"])["control"])
        for _ in range(settings["count"]):
            start = (settings["start"] + rng.uniform() * settings["jitter"]) / 1e9
            stop = duration if settings["stop"] is None else settings["stop"] / 1e9
            if start < duration:
                flows.append(
                    Flow(
                        len(flows),
                        entry,
                        host,
                        law or LAWS[control],
                        start,
                        min(stop, duration),
                        group.get("dscp", 0),
                        settings["trace"],
                    )
                )
    return flows


def refuse(scenario: Scenario, plan: Mapping[str, Any], available: list[str]) -> None:
    """Raises ScenarioError with all that is not there in reality; ``available`` laws are."""
    problems = [*_in_network(scenario, plan), *_in_traffic(scenario)]
    if not problems:
        problems += _in_transports(scenario, plan, available)
    if problems:
        raise ScenarioError(problems, scenario.name)


def _in_network(scenario: Scenario, plan: Mapping[str, Any]) -> Iterator[Problem]:
    if scenario.warmup == "auto":
        yield Problem(
            "warmup", 'got "auto", expected a time: a pilot with the same packets needs a simulator'
        )
    for link in plan["links"]:
        if link.get("cpu"):
            yield Problem(
                "topology", f"{link['name']}: got a CPU, expected none: packets have no class here"
            )
        if link.get("trace"):
            yield Problem(
                "topology", f"{link['name']}: got trace = true, expected false: tcpdump records"
            )


def _in_traffic(scenario: Scenario) -> Iterator[Problem]:
    for i, table in enumerate(scenario.traffic):
        path = f"traffic.{i}"
        if not isinstance(table, Tcp):
            yield Problem(f"{path}.kind", f'got {show(table.kind)}, expected "tcp": iperf3 sends')
        elif table.size is not None:
            yield Problem(
                f"{path}.size", f"got {show(str(table.size))}, expected flows without end"
            )
        elif table.write is not None:
            yield Problem(
                f"{path}.write", f"got {show(str(table.write))}, expected data that is all at hand"
            )
        elif table.sample_cwnd:
            yield Problem(
                f"{path}.sample_cwnd", "got true, expected false: sockets are looked at one by one"
            )


def _in_transports(
    scenario: Scenario, plan: Mapping[str, Any], available: list[str]
) -> Iterator[Problem]:
    stamps = set()
    for name, transport in scenario.transport.items():
        tcp = transport.resolved()
        law = LAWS.get(str(tcp["control"]))
        path = f"transport.{name}"
        stamps.add(tcp["timestamps"])
        if law is None:
            expected = ", ".join(LAWS)
            yield Problem(
                f"{path}.control",
                f"got {show(tcp['control'])}, expected one of Linux's: {expected}",
            )
        elif law not in available:
            yield Problem(
                f"{path}.control",
                f"got {show(tcp['control'])}, expected one that this kernel has: {law} is none of "
                f"{', '.join(available)}",
            )
        if not SMALLEST <= transport.wire_bytes <= LARGEST:
            yield Problem(
                f"{path}.segment",
                f"got packets of {transport.wire_bytes} bytes, expected {SMALLEST} to {LARGEST}",
            )
    if len(stamps) > 1:
        yield Problem("transport", "got timestamps for some, expected them for all or none")
    flows = sum(entry["kind"]["tcp"]["count"] for entry in plan["traffic"])
    if flows > MOST_FLOWS:
        yield Problem("traffic", f"got {flows} flows, expected at most {MOST_FLOWS}")


def routes_by_host(hosts: list[Host]) -> list[int]:
    """For the engine: the route of each pair of addresses, by number; 0 is nobody's."""
    return [NO_ROUTE, *(host.route for host in hosts)]
