"""AQMs in the kernel that go by the real queue or write a price, over a veth pair."""

import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest

from marqueue.errors import MarqueueError
from marqueue.live import kernel
from veth_pair import Pair, comes_true, made_pair, needs_kernel, shell, with_nothing_attached

LAW = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with made_pair() as pair:
        yield pair


@pytest.fixture
def hosts(pair: Pair) -> Iterator[Pair]:
    with with_nothing_attached(pair) as hosts:
        yield hosts


# The gain is many times PI's default, which is for many flows, and seconds rather than the time of
# a test.
BY_THE_QUEUE = {
    "scaled": {"name": "scaled", "flows": 2},
    "red": {"name": "red", "min_th": "5 packets", "max_th": "15 packets", "w_q": 0.02},
    "drq": {"name": "drq", "min_th": "5 packets", "max_th": "50 packets", "w_q": 0.02},
    "pi": {"name": "pi", "q_ref": "10 packets", "a": 0.002, "b": 0.0019},
}


@needs_kernel
@pytest.mark.parametrize("name", BY_THE_QUEUE)
def test_aqms_that_go_by_the_real_queue_mark_and_keep_it_short(hosts: Pair, name: str):
    kernel.attach("v", kernel.Aqm.read(BY_THE_QUEUE[name], "20 Mbit/s"), hosts.names["a"])
    before = hosts.received_ce()
    hosts.tcp(size="3M")
    stats = hosts.stats()
    assert stats.marked > 0
    assert comes_true(lambda: hosts.received_ce() - before == hosts.stats().marked)
    # Without an AQM the shaper loses nothing, and two windows of CUBIC fill megabytes.
    assert stats.state["avg" if "avg" in stats.state else "queue"] < 60 * kernel.FRAME
    # What has no ECT is dropped where others are marked: acknowledgements and the ends of iperf3's
    # two connections, some ten packets, of which one in ten at most. RED dropped one packet in one
    # of 95 runs, of which it is not known whether it had ECT.
    assert stats.dropped <= 3 or name == "scaled"


SENT_BY_MKC = """
import socket, struct, sys, time
count, gap = int(sys.argv[1]), float(sys.argv[2])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin = time.monotonic()
for number in range(count):
    while time.monotonic() < begin + number * gap:
        pass
    header = struct.pack(">IIffI", 0xffffffff, 0, -float("inf"), 0.0, 42)
    out.sendto(b"MQD\\1" + struct.pack(">I", number) + header + bytes(1000), ("10.98.0.2", 9000))
"""


@needs_kernel
def test_packets_carry_the_price_of_the_link(hosts: Pair):
    """The price that is received is the one of the bytes that came in an interval: 1 - C delta / S
    (Zhang, Kang and Loguinov 2004, equation 58). 2 ms between packets of 1,070 bytes on the wire
    are 4.3 Mbit/s, of 1 Mbit/s; each interval has 25 of them, or few more or less where the
    machine held the sender up."""
    aqm = kernel.Aqm.read({"name": "mkc", "delta": "50 ms"}, "1 Mbit/s")
    kernel.attach("v", aqm, hosts.names["a"])
    listen = (
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
        "s.bind(('10.98.0.2', 9000)); s.settimeout(30); print('ready', flush=True);"
        "[print(s.recv(2000)[:28].hex(), flush=True) for _ in range(200)]"
    )
    with subprocess.Popen(
        hosts.at("b", sys.executable, "-c", listen), stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout
        assert receiver.stdout.readline() == "ready\n"
        shell(*hosts.at("a", sys.executable, "-c", SENT_BY_MKC, "200", "0.002"))
        received = [bytes.fromhex(line) for line in receiver.stdout]
    # With a wrong checksum none would have arrived.
    assert len(received) == 200
    headers = [struct.unpack(">IIffI", payload[8:28]) for payload in received]
    priced = [header for header in headers if header[0] != 0xFFFFFFFF]
    assert hosts.stats().marked == len(priced) > 100
    assert {header[4] for header in headers} == {42}
    assert [header[3] for header in priced] == pytest.approx([0.05] * len(priced))
    capacity = 1e6 / 8 * 0.05
    for _, _, price, _, _ in priced:
        packets = capacity / (1 - price) / 1070
        # S is a whole number of packets, and perhaps some that Linux sends by itself (ARP, of 42
        # bytes); at least 1514 bytes.
        assert packets == pytest.approx(round(packets), abs=0.2) or packets == pytest.approx(
            1514 / 1070, rel=1e-3
        )


@needs_kernel
@pytest.mark.parametrize("name", BY_THE_QUEUE)
def test_a_root_qdisc_that_holds_nothing_is_refused(hosts: Pair, name: str):
    hosts.run("a", "ip link add bare type veth peer name other")
    hosts.run("a", "ip link set bare up")
    try:
        with pytest.raises(MarqueueError, match="bare: got root qdisc noqueue, expected one whose"):
            kernel.attach("bare", kernel.Aqm.read(name, "20 Mbit/s"), hosts.names["a"])
        assert kernel.stats("bare", hosts.names["a"]) is None
    finally:
        hosts.run("a", "ip link delete bare")


@needs_kernel
def test_another_aqm_takes_the_place_of_the_first(hosts: Pair):
    place = hosts.names["a"]
    assert kernel.attach("v", LAW, place)
    assert kernel.attach("v", kernel.Aqm.read(BY_THE_QUEUE["pi"]), place)
    assert (hosts.stats().aqm, hosts.stats().rate) == ("pi", None)
    assert len(hosts.filters()) == 1
    kernel.detach("v", place)
    assert not hosts.has_hook()
    assert hosts.pinned() == []
