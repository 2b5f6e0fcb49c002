"""DCTCP in the kernel, over a veth pair between two namespaces."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from live_requirements import needs_dctcp
from marqueue.live import kernel
from veth_pair import Pair, comes_true, made_pair, needs_kernel, with_nothing_attached

LAW = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with made_pair() as pair:
        yield pair


@pytest.fixture
def hosts(pair: Pair) -> Iterator[Pair]:
    with with_nothing_attached(pair) as hosts:
        yield hosts


@needs_kernel
@needs_dctcp
def test_dctcp_carries_tcp_through_it_and_is_gone_afterwards(hosts: Pair):
    kernel.attach("v", LAW, hosts.names["a"])
    with kernel.dctcp() as name, kernel.dctcp() as same:
        assert name == same
        hosts.tcp(control=name)
    assert hosts.stats().marked > 0
    assert comes_true(lambda: name not in kernel.AVAILABLE.read_text())


@needs_kernel
@needs_dctcp
def test_dctcp_answers_a_loss_like_reno(hosts: Pair):
    """RFC 8257, section 3.5. Without marks alpha falls to 0, and would leave the whole window."""

    def retransmissions(control: str) -> int:
        return hosts.tcp(control=control, size="8M")["end"]["sum_sent"]["retransmits"]

    shaper = "tc qdisc change dev v root tbf rate 20mbit burst 1600"
    hosts.run("a", f"{shaper} limit 60kb")
    try:
        reno = retransmissions("reno")
        with kernel.dctcp() as name:
            # Once, on a loaded machine, one had 919 beside Reno's 77; why is not known. Without the
            # answer each of six had 457 to 1210, beside Reno's 75 and 79.
            found = [retransmissions(name) for _ in range(3)]
        assert any(found)
        assert min(found) < 3 * reno, (found, reno)
    finally:
        hosts.run("a", f"{shaper} limit 4mb")


@needs_kernel
@needs_dctcp
def test_dctcp_goes_with_a_process_that_is_killed():
    program = (
        "from marqueue.live import kernel\nwith kernel.dctcp() as n: print(n, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        name = process.stdout.readline().strip()
        with socket.socket() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        process.kill()
        process.wait()
    assert comes_true(lambda: name not in kernel.AVAILABLE.read_text())
