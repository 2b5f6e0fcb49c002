"""Runs a command behind an emulated link, like the shells of mahimahi.

The command runs in a network namespace of its own, whose only route leads through a TUN device. The
other end of the link is a TUN device in the namespace of the caller. Links can be nested: a link
that is started inside another takes its addresses from the outer one.

    started from             inside     inside that
    100.64.0.1/16            100.64.0.2/16
                             100.64.1.1/24            100.64.1.2/24

Each IPv6 address is a prefix of 96 bits followed by the IPv4 address.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface
from typing import Any

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.live.internet import DEVICE, internet_access, remove_stale_tables
from marqueue.live.isolation import OwnProcessor
from marqueue.live.machine import watched
from marqueue.live.namespaces import namespaces, setup_lock
from marqueue.live.process_tree import INHERITED, Pipes, run_tree
from marqueue.live.program_failure import broken_programs_end, programs_are_told
from marqueue.live.receive_steering import steer
from marqueue.live.recording import Watcher, notify_watchers

#: Addresses for carrier-grade NAT (RFC 6598): not routed, and not used by private networks.
ADDRESSES = IPv4Network("100.64.0.0/10")
#: Prefix lengths of a link and of the links nested in it.
DEPTHS = (16, 24, 30)
INSIDE = "mq0"
OUTSIDE, OUTSIDE6 = "MARQUEUE_OUTSIDE", "MARQUEUE_OUTSIDE6"
"""Environment variables with the addresses of the namespace from which the command was started."""


@dataclass(frozen=True)
class LinkOutcome:
    """The exit code of the command and the measurements of the link."""

    exit_code: int
    raw: Mapping[str, Any]
    packet_time: float | None


def run_behind(
    plan: Mapping[str, Any],
    seed: int,
    mtu: int,
    command: Sequence[str],
    *,
    longest_poll: float | None = None,
    own: OwnProcessor | None = None,
    internet: bool = False,
    watchers: Sequence[Watcher] = (),
    pipes: Pipes = INHERITED,
) -> LinkOutcome:
    """Runs ``command`` behind the links of ``plan``, whose only route leads out of the namespace;
    with ``internet`` it leads beyond this machine. The link's thread polls for ``longest_poll``
    (s) before a packet is due, or all the time on a processor of its ``own``.

    ``watchers`` receive the samples that the plan requests; the outcome then does not contain them.
    Raises RunError if the machine cannot do it, or if links are nested too deep, BrokenProgram if a
    class in Python that manages a queue breaks off; the command is ended then.
    """
    requirements.require()
    device = f"mtu {mtu} txqueuelen {requirements.DEVICE_QUEUE}"
    with namespaces("inside") as [namespace]:
        here = f"{DEVICE}{os.getpid()}"
        with setup_lock():
            remove_stale_tables()
            try:
                with programs_are_told():
                    link = _core.LiveLink(
                        json.dumps(plan),
                        seed,
                        (INSIDE, f"/run/netns/{namespace}"),
                        (here, None),
                        mtu,
                        [],
                        longest_poll=longest_poll,
                        own_processor=str(own.threads) if own else None,
                        share_samples=bool(watchers),
                    )
            except OSError as error:
                raise RunError(f"{error.strerror or error}") from None
            outer, inner = unused_pair()
            requirements.batch(None, f"addr add {outer} dev {here}", f"link set {here} {device} up")
            steer(None, here)
        requirements.batch(
            namespace,
            f"addr add {inner} dev {INSIDE}",
            f"link set {INSIDE} {device} up",
            f"route add default via {outer.ip}",
        )
        steer(namespace, INSIDE)
        addresses: dict[str, IPv4Interface | IPv6Interface] = {OUTSIDE: outer}
        if mtu >= requirements.LEAST6 and requirements.has_ipv6():
            outer6, inner6 = ipv6_of(outer), ipv6_of(inner)
            requirements.set_parameters(namespace, **{f"ipv6__conf__{INSIDE}__disable_ipv6": 0})
            requirements.batch(None, f"addr add {outer6} dev {here} nodad")
            requirements.batch(
                namespace,
                f"addr add {inner6} dev {INSIDE} nodad",
                f"route add ::/0 via {outer6.ip}",
            )
            addresses[OUTSIDE6] = outer6
        variables = {name: str(address.ip) for name, address in addresses.items()}
        with (
            broken_programs_end(link, plan),
            internet_access(here, list(addresses.values())) if internet else nullcontext(),
        ):
            taken: dict[str, Any] = {}
            with watched(link, taken), notify_watchers(link, watchers):
                line = own.outside(command) if own else command
                code = run_tree(namespace, line, {**os.environ, **variables}, pipes)
            raw = link.finish()
        raw["audit"] |= taken | {"isolated": own.number if own else None}
        rest = link.samples()
        for watcher in watchers:
            watcher(rest)
        for end, (where, device) in {"near": (namespace, INSIDE), "far": (None, here)}.items():
            raw["audit"][end] |= requirements.device_drops(where, device)
        return LinkOutcome(code, raw, link.packet_time)


def ipv6_of(address: IPv4Interface) -> IPv6Interface:
    """The IPv6 address of the end with this IPv4 address."""
    return IPv6Interface((requirements.PREFIX6 + int(address.ip), 96 + address.network.prefixlen))


def unused_pair() -> tuple[IPv4Interface, IPv4Interface]:
    """Unused addresses for the two ends of a new link."""
    taken: list[IPv4Interface] = []
    within, depth = ADDRESSES, 0
    for device in json.loads(requirements.run("ip", "-json", "-4", "addr")):
        for each in device.get("addr_info", ()):
            address = IPv4Interface(f"{each['local']}/{each['prefixlen']}")
            taken.append(address)
            if device["ifname"] == INSIDE:
                within, depth = address.network, DEPTHS.index(each["prefixlen"]) + 1
    if depth == len(DEPTHS):
        raise RunError(f"link: got {depth} nested links, expected at most {len(DEPTHS)}")
    for subnet in within.subnets(new_prefix=DEPTHS[depth]):
        first, second = subnet[1], subnet[2]
        clash = any(first in t.network and t.network.prefixlen >= subnet.prefixlen for t in taken)
        if not clash and not any(t.ip in subnet for t in taken):
            prefix = subnet.prefixlen
            return IPv4Interface(f"{first}/{prefix}"), IPv4Interface(f"{second}/{prefix}")
    raise RunError(f"link: no addresses left in {within}")
