"""AQMs in the kernel of a router: packets that it forwards between two hosts."""

from collections.abc import Iterator

import pytest

from marqueue.live import kernel, namespaces
from marqueue.live.requirements import inside, set_parameters
from veth_pair import Pair, comes_true, made_pair, needs_kernel, shell

LAW = kernel.Aqm.read("avq", "10 Mbit/s", buffer="20 packets")


@pytest.fixture(scope="module")
def behind() -> Iterator[tuple[Pair, str]]:
    """Hosts, of which ``a`` is a router too, and a host behind it: its namespace. The router's
    device towards that host is ``w``."""
    with made_pair() as pair, namespaces.namespaces("c") as [c]:
        a = pair.names["a"]
        for words in (
            f"ip link add w netns {a} type veth peer name v netns {c}",
            f"ip -n {a} addr add 10.99.0.1/24 dev w",
            f"ip -n {a} link set w up",
            f"ip -n {c} addr add 10.99.0.2/24 dev v",
            f"ip -n {c} link set v up",
            f"ip -n {c} route add default via 10.99.0.1",
            f"ip -n {pair.names['b']} route add 10.99.0.0/24 via 10.98.0.1",
        ):
            shell(*words.split())
        for name in (*pair.names.values(), c):
            set_parameters(name, ipv4__ip_forward=1, ipv6__conf__all__disable_ipv6=1)
        set_parameters(c, ipv4__tcp_ecn=1)
        for name, device in ((c, "v"), (a, "w")):
            offload = f"ethtool -K {device} tso off gso off gro off tx off"
            shell(*inside(name, offload.split()))
        yield pair, c


@needs_kernel
@pytest.mark.parametrize(("device", "hook"), [("v", "egress"), ("w", "ingress")])
def test_what_a_router_marks_arrives_with_ce(behind: tuple[Pair, str], device: str, hook: str):
    pair, sender = behind
    at = pair.names["a"]
    assert kernel.attach(device, LAW, at, hook)
    try:
        before = pair.received_ce()
        pair.tcp(sender=sender)

        def stats() -> kernel.Stats:
            told = kernel.stats(device, at, hook)
            assert told
            return told

        assert stats().packets > 500
        assert stats().marked > 0
        assert comes_true(lambda: pair.received_ce() - before == stats().marked)
    finally:
        kernel.detach(device, at, hook)


@needs_kernel
def test_behind_its_edge_drq_signals_before_it_marks(behind: tuple[Pair, str]):
    """The edge begins the field of each packet anew: 00. What the link makes 10 is no mark."""
    pair, sender = behind
    router = pair.names["a"]
    law = {"name": "drq", "min_th": "5 packets", "max_th": "50 packets", "w_q": 0.02}
    kernel.attach("w", kernel.Aqm.read("drq", hook="ingress"), router, "ingress")
    kernel.attach("v", kernel.Aqm.read(law, "20 Mbit/s"), router)
    try:
        before = pair.received_ce()
        pair.tcp(sender=sender, size="3M")
        edge, link = kernel.stats("w", router, "ingress"), kernel.stats("v", router)
        assert edge
        assert edge.rate is None
        assert link
        assert edge.marked > 1000
        assert link.state["signalled"] > link.marked > 0
        assert comes_true(lambda: pair.received_ce() - before == pair.stats().marked)
    finally:
        kernel.detach("w", router, "ingress")
        kernel.detach("v", router)
