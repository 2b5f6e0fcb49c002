"""Configures the two namespaces of a live scenario: addresses, routes and TCP settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.live import requirements
from marqueue.live.flows import Host
from marqueue.live.receive_steering import steer
from marqueue.scenario.parameters import resolved_tcp

DEVICE = "mq0"


def configure(plan: Mapping[str, Any], near: str, far: str, hosts: Sequence[Host]) -> None:
    """Gives every host its address and its route, and TCP its settings.

    Packet size, initial window and ECN are settings of the route, so that groups with different
    settings can share a namespace.
    """
    # Settings that are the same for all flows of a namespace.
    transport = (plan["transports"] or [{"preset": "linux", "params": {}}])[0]
    tcp = resolved_tcp(transport["preset"], transport["params"])
    mtu, ipv6 = max(host.wire for host in hosts), hosts[0].ipv6
    prefix = "128 nodad" if ipv6 else "32"
    for namespace in (near, far):
        requirements.set_parameters(
            namespace,
            # ECN is requested by flows whose route has the feature, and accepted by all receivers.
            ipv4__tcp_ecn=2,
            ipv4__tcp_timestamps=int(bool(tcp["timestamps"])),
            ipv4__tcp_sack=int(tcp["recovery"] == "sack"),
            # Metrics of earlier connections (tcp_metrics) must not affect later ones.
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
            # Without a link-local address the device sends no router solicitations.
            f"link set {DEVICE} addrgenmode none",
            # After it: a device whose packets are shorter than IPv6's least MTU has no such mode.
            f"link set {DEVICE} mtu {mtu} txqueuelen {requirements.DEVICE_QUEUE}",
            f"link set {DEVICE} up",
            *(f"addr add {own}/{prefix} dev {DEVICE}" for own in mine),
            *routes,
        )
        steer(namespace, DEVICE)
