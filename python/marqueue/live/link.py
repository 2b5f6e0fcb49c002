"""A command behind an emulated link, as mahimahi's shells have it.

The command gets a network namespace of its own, whose only way out is a TUN device; another stands
in the namespace that it was started from. Links nest: one that is started inside another takes its
addresses out of that one's.

    started from             inside     inside that
    100.64.0.1/16            100.64.0.2/16
                             100.64.1.1/24            100.64.1.2/24

Each has an address of IPv6 too, which is that of IPv4 behind a prefix of 96 bits.
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
from marqueue.live.internet import DEVICE, sweep, way_out
from marqueue.live.namespaces import namespaces, one_at_a_time
from marqueue.live.process_tree import INHERITED, Pipes, run_tree
from marqueue.live.recording import Watcher, told

#: For carrier-grade NAT (RFC 6598): nobody's addresses, and not those of private networks at home.
ADDRESSES = IPv4Network("100.64.0.0/10")
#: Prefixes of links and of links within them.
DEPTHS = (16, 24, 30)
INSIDE = "mq0"
OUTSIDE, OUTSIDE6 = "MARQUEUE_OUTSIDE", "MARQUEUE_OUTSIDE6"
"""The variables that tell the command the addresses of the namespace that it was started from."""


@dataclass(frozen=True)
class LinkOutcome:
    """What became of the command, and what the link measured."""

    exit_code: int
    raw: Mapping[str, Any]
    packet_time: float | None


def run_behind(
    plan: Mapping[str, Any],
    seed: int,
    mtu: int,
    command: Sequence[str],
    *,
    internet: bool = False,
    watchers: Sequence[Watcher] = (),
    pipes: Pipes = INHERITED,
) -> LinkOutcome:
    """Runs ``command`` behind the links of ``plan``, whose only route leads out; with ``internet``
    it leads beyond this machine.

    ``watchers`` are told of the samples that the plan asks for, which are then no part of what the
    link measured. Raises RunError if the machine cannot do it, or the links nest too deep.
    """
    requirements.require()
    with namespaces("inside") as [namespace]:
        here = f"{DEVICE}{os.getpid()}"
        with one_at_a_time():
            sweep()
            try:
                link = _core.LiveLink(
                    json.dumps(plan),
                    seed,
                    (INSIDE, f"/run/netns/{namespace}"),
                    (here, None),
                    mtu,
                    [],
                    share_samples=bool(watchers),
                )
            except OSError as error:
                raise RunError(f"{error.strerror or error}") from None
            outer, inner = free_pair()
            requirements.batch(
                None, f"addr add {outer} dev {here}", f"link set {here} mtu {mtu} up"
            )
        requirements.batch(
            namespace,
            f"addr add {inner} dev {INSIDE}",
            f"link set {INSIDE} mtu {mtu} up",
            f"route add default via {outer.ip}",
        )
        addresses: dict[str, IPv4Interface | IPv6Interface] = {OUTSIDE: outer}
        if mtu >= requirements.LEAST6 and requirements.has_ipv6():
            outer6, inner6 = in_ipv6(outer), in_ipv6(inner)
            requirements.set_parameters(namespace, **{f"ipv6__conf__{INSIDE}__disable_ipv6": 0})
            requirements.batch(None, f"addr add {outer6} dev {here} nodad")
            requirements.batch(
                namespace,
                f"addr add {inner6} dev {INSIDE} nodad",
                f"route add ::/0 via {outer6.ip}",
            )
            addresses[OUTSIDE6] = outer6
        variables = {name: str(address.ip) for name, address in addresses.items()}
        with way_out(here, list(addresses.values())) if internet else nullcontext():
            link.start()
            with told(link, watchers):
                code = run_tree(namespace, command, {**os.environ, **variables}, pipes)
        raw = link.finish()
        rest = link.samples()
        for watcher in watchers:
            watcher(rest)
        for end, (where, device) in {"near": (namespace, INSIDE), "far": (None, here)}.items():
            raw["audit"][end]["tun_drops"] = requirements.send_drops(where, device)
        return LinkOutcome(code, raw, link.packet_time)


def in_ipv6(address: IPv4Interface) -> IPv6Interface:
    """What an end has in IPv6 that has ``address``."""
    return IPv6Interface((requirements.PREFIX6 + int(address.ip), 96 + address.network.prefixlen))


def free_pair() -> tuple[IPv4Interface, IPv4Interface]:
    """Addresses for the two ends of a new link that nobody here has."""
    taken: list[IPv4Interface] = []
    within, depth = ADDRESSES, 0
    for device in json.loads(requirements.run("ip", "-json", "-4", "addr")):
        for each in device.get("addr_info", ()):
            address = IPv4Interface(f"{each['local']}/{each['prefixlen']}")
            taken.append(address)
            if device["ifname"] == INSIDE:
                within, depth = address.network, DEPTHS.index(each["prefixlen"]) + 1
    if depth == len(DEPTHS):
        raise RunError(f"link: {depth} links within each other, expected at most {len(DEPTHS)}")
    for subnet in within.subnets(new_prefix=DEPTHS[depth]):
        first, second = subnet[1], subnet[2]
        clash = any(first in t.network and t.network.prefixlen >= subnet.prefixlen for t in taken)
        if not clash and not any(t.ip in subnet for t in taken):
            prefix = subnet.prefixlen
            return IPv4Interface(f"{first}/{prefix}"), IPv4Interface(f"{second}/{prefix}")
    raise RunError(f"link: no addresses left in {within}")
