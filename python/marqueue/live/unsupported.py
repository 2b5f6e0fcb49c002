"""Checks for features of a scenario that live runs do not support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import inf
from typing import Any

from marqueue.errors import Problem, ScenarioError, show, with_names
from marqueue.live.flows import LARGEST, LAWS, LONGER, UDP
from marqueue.live.requirements import LEAST6
from marqueue.scenario import Scenario
from marqueue.scenario.traffic import Cbr, Media, Paced, Packets, Quic, Recorded, Tcp

#: Limit for flows without an end: each has a sender and a receiver process.
MOST_PROCESSES = 100
#: Limit for all other flows: each has a port.
MOST_PORTS = 20_000
#: Limit for UDP packets without control per second: one process sends them all.
MOST_PACKETS = 20_000
#: Smallest packet of TCP on the wire, bytes, with the headers of IP and TCP.
SMALLEST = 128
#: What packets of paced flows carry for routers and receivers, bytes.
PACED_FIELDS = 28


def refuse(
    scenario: Scenario, plan: Mapping[str, Any], available: list[str], *, ipv6: bool = False
) -> None:
    """Raises ScenarioError with everything that live runs do not support. ``available`` are the
    window laws of this kernel."""
    problems = [*_in_network(scenario, plan), *_in_traffic(scenario, plan, ipv6)]
    if not problems:
        problems += _in_transports(scenario, available, LEAST6 if ipv6 else SMALLEST)
    if problems:
        raise ScenarioError(with_names(problems, scenario.to_dict()), scenario.name)


def _in_network(scenario: Scenario, plan: Mapping[str, Any]) -> Iterator[Problem]:
    if scenario.warmup == "auto":
        yield Problem("warmup", 'got "auto", expected a time: the pilot run needs the simulator')
    for link in plan["links"]:
        if link.get("trace"):
            yield Problem(
                "topology", f"{link['name']}: got trace = true, expected false: tcpdump records"
            )


def _in_traffic(scenario: Scenario, plan: Mapping[str, Any], ipv6: bool) -> Iterator[Problem]:
    for i, table in enumerate(scenario.traffic):
        path = f"traffic.{i}"
        if isinstance(table, Quic | Media | Recorded):
            message = f"got {show(table.kind)}, expected another kind: it is simulated only"
            yield Problem(f"{path}.kind", message)
        if isinstance(table, Tcp):
            yield from _in_tcp(path, table)
        if isinstance(table, Cbr | Packets | Paced):
            yield from _in_udp(path, table, UDP + LONGER * ipv6)
    kinds = [next(iter(entry["kind"].items())) for entry in plan["traffic"]]
    for what, number, most in (
        ("TCP flows without end", _flows(kinds, endless=True), MOST_PROCESSES),
        ("other flows", _flows(kinds, endless=False), MOST_PORTS),
        ("UDP packets a second without control", _packets(kinds), MOST_PACKETS),
    ):
        if number > most:
            yield Problem("traffic", f"got {number:.0f} {what}, expected at most {most}")


def _in_udp(path: str, table: Cbr | Packets | Paced, headers: int) -> Iterator[Problem]:
    least, what = headers + 1, "headers"
    if isinstance(table, Paced):
        least, what = headers + PACED_FIELDS, "headers and the fields of paced packets"
    if not least <= table.packet.base <= LARGEST:
        yield Problem(
            f"{path}.packet",
            f"got {show(str(table.packet))}, expected at least {least} B, for {what}, and at most "
            f"{LARGEST} B",
        )


def _in_tcp(path: str, table: Tcp) -> Iterator[Problem]:
    if table.sample_cwnd:
        yield Problem(
            f"{path}.sample_cwnd", "got true, expected false: live runs read sockets one by one"
        )
    if table.trace and (table.size is not None or table.write is not None):
        yield Problem(
            f"{path}.trace",
            "got true, expected false: only flows without end and pauses are traced",
        )
    if table.size is not None and table.stop is not None:
        yield Problem(
            f"{path}.stop",
            f"got {show(str(table.stop))}, expected none: finite flows end by themselves",
        )


def _flows(kinds: list[tuple[str, Any]], *, endless: bool) -> float:
    """How many flows there are that always have data to send, or how many others; of those that
    arrive, on average."""
    number = 0.0
    for kind, settings in kinds:
        greedy = kind == "tcp" and settings["size"] is None and settings["write"] is None
        if kind == "poisson":
            arriving = settings["rate"] * (settings["stop"] - settings["start"]) / 1e9
            number += 0 if endless else arriving
        elif endless == greedy:
            number += settings.get("count", 1)
    return number


def _packets(kinds: list[tuple[str, Any]]) -> float:
    """The largest number of UDP packets without control a second, over time: bursts that follow
    each other do not add up."""
    per_second = {
        "cbr": lambda s: s["count"] * s["rate"] / 8 / s["packet"],
        "packets": lambda s: s["rate"],
    }
    changes: list[tuple[float, float]] = []
    for kind, settings in kinds:
        if kind in per_second:
            each, stop = per_second[kind](settings), settings["stop"]
            changes += [(settings["start"], each), (inf if stop is None else stop, -each)]
    # At the same time, what ends comes before what begins.
    return max(accumulate(change for _, change in sorted(changes)), default=0.0)


def _in_transports(scenario: Scenario, available: list[str], smallest: int) -> Iterator[Problem]:
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
        if not smallest <= transport.wire_bytes <= LARGEST:
            yield Problem(
                f"{path}.segment",
                f"got packets of {transport.wire_bytes} bytes, expected {smallest} to {LARGEST}",
            )
    if len(stamps) > 1:
        yield Problem("transport", "got timestamps for some groups, expected them for all or none")
