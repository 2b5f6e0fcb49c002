"""The two namespaces of a live scenario: addresses, routes, and what Linux's TCP is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.live import requirements
from marqueue.live.flows import Host
from marqueue.scenario.parameters import resolved_tcp

DEVICE = "mq0"


def prepare(plan: Mapping[str, Any], near: str, far: str, hosts: Sequence[Host]) -> None:
    """Gives every host its address and its route, and TCP its settings.

    A route tells the size of packets and the first window, that of a sender with ECN to ask for it:
    groups that differ may share a namespace so.
    """
    # Without any TCP these are nobody's.
    transport = (plan["transports"] or [{"preset": "linux", "params": {}}])[0]
    tcp = resolved_tcp(transport["preset"], transport["params"])
    mtu, ipv6 = max(host.wire for host in hosts), hosts[0].ipv6
    prefix = "128 nodad" if ipv6 else "32"
    for namespace in (near, far):
        requirements.set_parameters(
            namespace,
            # ECN is for those whose route has it, and for those who are asked.
            ipv4__tcp_ecn=2,
            ipv4__tcp_timestamps=int(bool(tcp["timestamps"])),
            ipv4__tcp_sack=int(tcp["recovery"] == "sack"),
            # What an earlier flow found out about the way is no news to the next.
            ipv4__tcp_no_metrics_save=1,
            ipv6__conf__all__disable_ipv6=int(not ipv6),
        )
    for namespace, mine, others in (
        (near, [h.near for h in hosts], [h.far for h in hosts]),
        (far, [h.far for h in hosts], [h.near for h in hosts]),
    ):
        routes = (
            f"route add {other} dev {DEVICE} src {own} mtu {host.wire} "
            f"advmss {host.wire - host.headers} "
            f"initcwnd {host.window}" + " features ecn" * (host.ecn and namespace == near)
            for host, own, other in zip(hosts, mine, others, strict=True)
        )
        requirements.batch(
            namespace,
            # Without an address of its own making a device asks for no routers.
            f"link set {DEVICE} mtu {mtu} txqueuelen 10000 addrgenmode none",
            f"link set {DEVICE} up",
            *(f"addr add {own}/{prefix} dev {DEVICE}" for own in mine),
            *routes,
        )
