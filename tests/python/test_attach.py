"""AQMs in the kernel, and DCTCP: real TCP over a veth pair between two namespaces."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from live_requirements import has_ipv6, needs_dctcp, needs_ipv6, not_installed, why_no_hosts
from marqueue.cli import app
from marqueue.errors import MarqueueError
from marqueue.live import kernel, namespaces, requirements

WHY_NOT = kernel.missing() or why_no_hosts() or not_installed("tc", "ethtool")
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no programs here: {WHY_NOT}")

BPF = Path("/sys/fs/bpf")
PINS = BPF / "marqueue"

LAW = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets")


def shell(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}{done.stdout}"
    return done.stdout


def comes_true(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Does it, in a time after which nothing more is to be expected of any machine?"""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        os.sched_yield()
    return condition()


class Pair:
    """Hosts ``a`` and ``b``; what ``a`` sends goes through a token bucket of 20 Mbit/s, which loses
    nothing."""

    def __init__(self, a: str, b: str) -> None:
        self.names = {"a": a, "b": b}

    def at(self, host: str, *words: str) -> list[str]:
        return requirements.inside(self.names[host], words)

    def run(self, host: str, words: str) -> str:
        return shell(*self.at(host, *words.split()))

    def make(self) -> None:
        """By the system's own tools; whatever fails is not there."""
        if not BPF.is_mount():
            shell("mount", "-t", "bpf", "bpf", str(BPF))
        a, b = self.names.values()
        shell(*f"ip link add v netns {a} type veth peer name v netns {b}".split())
        for number, host in enumerate("ab", 1):
            requirements.set_parameters(self.names[host], ipv4__tcp_ecn=1)
            self.run(host, f"ip addr add 10.98.0.{number}/24 dev v")
            if has_ipv6():
                self.run(host, f"ip addr add fd98::{number}/64 dev v nodad")
            self.run(host, "ip link set v up")
        self.run("a", "tc qdisc add dev v root tbf rate 20mbit burst 1600 limit 4mb")
        self.run("a", "tc qdisc add dev v clsact")
        self.run("a", "tc qdisc delete dev v clsact")
        self.offload("off")

    def offload(self, state: str) -> None:
        for host in "ab":
            self.run(host, f"ethtool -K v tso {state} gso {state} gro off tx {state}")

    def tcp(self, to: str = "10.98.0.2", control: str = "cubic", size: str = "1500K") -> Any:
        """Bytes from ``a`` to ``b`` over two connections. Returns iperf3's report."""
        server = subprocess.Popen(
            self.at("b", "iperf3", "-s", "-1", "--forceflush"), stdout=subprocess.PIPE, text=True
        )
        assert server.stdout
        with server.stdout:
            try:
                while "listening" not in server.stdout.readline():
                    assert server.poll() is None
                return json.loads(self.run("a", f"iperf3 -c {to} -C {control} -n {size} -P 2 -J"))
            finally:
                server.kill()
                server.wait()

    def received_ce(self) -> int:
        """Packets with CE that have come to ``b``."""
        lines = self.run("b", "cat /proc/net/netstat").splitlines()
        names, values = (line.split() for line in lines if line.startswith("IpExt:"))
        marked = int(dict(zip(names, values, strict=True))["InCEPkts"])
        if has_ipv6():
            lines = self.run("b", "cat /proc/net/snmp6").splitlines()
            marked += int(dict(line.split() for line in lines)["Ip6InCEPkts"])
        return marked

    def not_counted(self) -> tuple[int, int]:
        """Packets and bytes that ``a`` has put on the wire and AVQ has not seen."""
        [link] = json.loads(self.run("a", "ip -j -s link show v"))
        sent, seen = link["stats64"]["tx"], self.stats()
        return sent["packets"] - seen.packets, sent["bytes"] - seen.bytes

    def filters(self) -> list[dict[str, object]]:
        found = json.loads(self.run("a", "tc -j filter show dev v egress"))
        return [each for each in found if "options" in each]

    def has_hook(self) -> bool:
        return "clsact" in self.run("a", "tc qdisc show dev v")

    def pinned(self) -> list[str]:
        """What is pinned for devices of ``a``: folders that begin with its namespace's number."""
        number = (namespaces.NAMES / self.names["a"]).stat().st_ino
        return [each.name for each in PINS.glob(f"{number}-*")]

    def stats(self) -> kernel.Stats:
        told = kernel.stats("v", self.names["a"])
        assert told
        return told


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with namespaces.namespaces("a", "b") as (a, b):
        pair = Pair(a, b)
        try:
            pair.make()
        except AssertionError as error:
            pytest.skip(f"no two hosts here: {error}")
        yield pair


@pytest.fixture
def hosts(pair: Pair) -> Iterator[Pair]:
    """With nothing attached, before and after."""
    yield pair
    kernel.detach("v", pair.names["a"])
    if pair.has_hook():
        pair.run("a", "tc qdisc delete dev v clsact")


@needs_kernel
@pytest.mark.parametrize("to", ["10.98.0.2", pytest.param("fd98::2", marks=needs_ipv6)])
def test_what_is_marked_arrives_with_ce(hosts: Pair, to: str):
    kernel.attach("v", LAW, hosts.names["a"])
    before = hosts.received_ce()
    hosts.tcp(to)
    marked = hosts.stats().marked
    assert marked > 0
    assert comes_true(lambda: hosts.received_ce() - before == hosts.stats().marked)
    assert hosts.stats().dropped == 0


@needs_kernel
def test_segmented_packets_count_as_what_goes_over_the_wire(hosts: Pair):
    kernel.attach("v", LAW, hosts.names["a"])
    hosts.offload("on")
    try:
        before, already = hosts.received_ce(), hosts.not_counted()
        hosts.tcp()
        stats = hosts.stats()
        assert stats.segmented > 0
        assert stats.marked > 0
        assert comes_true(lambda: hosts.received_ce() - before == hosts.stats().marked)
        # The token bucket takes apart whatever is larger than its burst: all of them.
        assert comes_true(lambda: hosts.not_counted() == already)
    finally:
        hosts.offload("off")


@needs_kernel
def test_where_signals_are_losses_nothing_is_marked(hosts: Pair):
    law = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets", signal="drop")
    kernel.attach("v", law, hosts.names["a"])
    before = hosts.received_ce()
    hosts.tcp()
    assert hosts.stats().dropped > 0
    assert hosts.stats().marked == 0
    assert hosts.received_ce() == before


@needs_kernel
def test_attaching_again_changes_values_and_goes_on_counting(hosts: Pair):
    assert kernel.attach("v", LAW, hosts.names["a"])
    hosts.tcp()
    before = hosts.stats()
    faster = kernel.Aqm.read({"name": "avq", "gamma": 0.5}, "30 Mbit/s")
    assert not kernel.attach("v", faster, hosts.names["a"])
    after = hosts.stats()
    assert len(hosts.filters()) == 1
    assert after.packets >= before.packets > 100
    assert (after.rate, after.parameters["gamma"]) == (30e6, pytest.approx(0.5, rel=1e-6))
    assert after.parameters["buffer"] == 100 * kernel.FRAME


@needs_kernel
def test_it_outlives_the_command_and_leaves_nothing_when_detached(hosts: Pair, marqueue):
    place = ("v", "--netns", hosts.names["a"])
    done = marqueue("attach", *place, "--rate", "20 Mbit/s", "--gamma", "0.9")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(hosts.filters()) == 1
    assert hosts.stats().parameters["gamma"] == pytest.approx(0.9, rel=1e-6)
    told = json.loads(CliRunner().invoke(app, ["stats", *place, "--json"]).stdout)
    assert told == hosts.stats().as_dict()
    assert "virtual capacity" in CliRunner().invoke(app, ["stats", *place]).stdout
    assert "was removed" in CliRunner().invoke(app, ["detach", *place]).stderr
    assert not hosts.has_hook()
    assert hosts.pinned() == []
    assert "No AQM" in CliRunner().invoke(app, ["detach", *place]).stderr
    done = marqueue("stats", *place)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no AQM is attached" in done.stderr


OTHER = "tc filter add dev v egress protocol ip prio 5 u32 match u32 0 0 flowid 1:1"


@needs_kernel
@pytest.mark.parametrize("before", [True, False])
def test_a_hook_that_others_use_stays(hosts: Pair, before: bool):
    if before:
        hosts.run("a", "tc qdisc add dev v clsact")
        hosts.run("a", OTHER)
    kernel.attach("v", LAW, hosts.names["a"])
    if not before:
        hosts.run("a", OTHER)
    kernel.detach("v", hosts.names["a"])
    assert hosts.has_hook()
    assert {each["kind"] for each in hosts.filters()} == {"u32"}


@needs_kernel
def test_a_hook_that_was_there_stays_though_nobody_uses_it(hosts: Pair):
    hosts.run("a", "tc qdisc add dev v clsact")
    kernel.attach("v", LAW, hosts.names["a"])
    kernel.attach("v", LAW, hosts.names["a"])
    kernel.detach("v", hosts.names["a"])
    assert hosts.has_hook()
    assert hosts.filters() == []


@needs_kernel
def test_a_filter_that_somebody_removed_is_put_back(hosts: Pair):
    kernel.attach("v", LAW, hosts.names["a"])
    hosts.run("a", "tc filter delete dev v egress")
    assert kernel.stats("v", hosts.names["a"]) is None
    assert kernel.attach("v", LAW, hosts.names["a"])
    kernel.detach("v", hosts.names["a"])
    assert not hosts.has_hook()


@needs_kernel
def test_what_a_device_left_behind_is_cleared_away(hosts: Pair):
    hosts.run("a", "ip link add gone type veth peer name too")
    kernel.attach("gone", LAW, hosts.names["a"])
    hosts.run("a", "ip link delete gone")
    assert len(hosts.pinned()) == 1
    kernel.attach("v", LAW, hosts.names["a"])
    kernel.detach("v", hosts.names["a"])
    assert hosts.pinned() == []


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
            assert 0 < retransmissions(name) < 3 * reno
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


@needs_kernel
@pytest.mark.parametrize(
    ("device", "netns", "place"),
    [
        ("nodevice", None, "nodevice"),
        ("lo", "nowhere", "/run/netns/nowhere"),
        ("lo", "/etc/passwd", "passwd"),
    ],
)
def test_what_is_not_there_is_named(device: str, netns: str | None, place: str):
    for refused in (lambda: kernel.attach(device, LAW, netns), lambda: kernel.stats(device, netns)):
        with pytest.raises(MarqueueError, match=place):
            refused()


@pytest.mark.parametrize(
    ("aqm", "given", "place"),
    [
        ("avq", {"rate": "20"}, "rate"),
        ("avq", {"rate": "0 Mbit/s"}, "rate"),
        ("avq", {"buffer": "3 s"}, "buffer"),
        ("avq", {"buffer": "1 kB"}, "buffer"),
        ("avq", {"signal": "loud"}, "signal"),
        ({"name": "avq", "gamma": 1.5}, {}, "gamma"),
        ({"name": "avq", "alpha": "0.15"}, {}, "alpha"),
        ({"name": "avq", "alpha": "1e6 /s"}, {}, "alpha"),
        ({"name": "avq", "adapt_every": "3 packets"}, {}, "adapt_every"),
        ("red", {"buffer": "30 kB"}, "buffer"),
        ({"name": "red", "mode": "packets"}, {}, "mode"),
        ({"name": "red", "min_th": "20 packets", "max_th": "10 packets"}, {}, "max_th"),
        ({"name": "red", "max_th": "3000000 packets"}, {}, "max_th"),
        ({"name": "pi", "a": 1e-5, "b": 1e-5}, {}, "b"),
        ("codel", {}, "aqm"),
    ],
)
def test_a_mistake_is_answered_with_its_place(aqm: Any, given: dict[str, Any], place: str):
    with pytest.raises(MarqueueError, match=f"^{place}: got .*expected"):
        kernel.Aqm.read(aqm, **{"rate": "1 Gbit/s", **given})


@pytest.mark.parametrize("aqm", ["avq", "red", "mkc"])
def test_a_rate_that_is_needed_is_asked_for(aqm: str):
    with pytest.raises(MarqueueError, match=r"^rate: missing, expected"):
        kernel.Aqm.read(aqm)


@pytest.mark.parametrize(
    ("aqm", "why"), [("codel", "sees arrivals only"), ("chokew", "already in the queue")]
)
def test_other_aqms_are_refused_with_the_reason(aqm: str, why: str):
    expected = f'^aqm: got "{aqm}", expected one of {", ".join(kernel.names())}: .*{why}'
    with pytest.raises(MarqueueError, match=expected):
        kernel.Aqm.read(aqm, "20 Mbit/s")


def test_a_mistake_ends_the_command(marqueue):
    done = marqueue("attach", "lo", "--aqm", "codel", "--rate", "20 Mbit/s")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('aqm: got "codel"')


# The gain is many times PI's default, which is for many flows, and seconds rather than the time of
# a test.
BY_THE_QUEUE = {
    "scaled": {"name": "scaled", "flows": 2},
    "red": {"name": "red", "min_th": "5 packets", "max_th": "15 packets", "w_q": 0.02},
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
    assert stats.state["avg" if name == "red" else "queue"] < 60 * kernel.FRAME
    assert stats.dropped == 0 or name == "scaled"


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


@pytest.mark.skipif(kernel.missing() is None, reason="programs can be loaded here")
def test_what_is_missing_is_said():
    for refused in (lambda: kernel.attach("lo", LAW), lambda: kernel.detach("lo")):
        with pytest.raises(MarqueueError) as error:
            refused()
        assert kernel.missing() in str(error.value)


def alone(prepare: str) -> subprocess.CompletedProcess[str]:
    """Attaches, asks and detaches at a device in namespaces of its own, where process 1 cannot be
    looked at and the file system of BPF is not mounted."""
    steps = (
        "ip link add v0 type veth peer name v1",
        "mount -t tmpfs none /proc/1",
        f"if mountpoint -q {BPF}; then umount {BPF}; fi",
        prepare,
        f"{sys.executable} -m marqueue attach v0 --rate 20Mbit/s",
        f"{sys.executable} -m marqueue stats v0 --json",
        f"{sys.executable} -m marqueue detach v0",
    )
    return subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(steps)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_kernel
@pytest.mark.skipif(not_installed("unshare") is not None, reason="no unshare here")
def test_where_process_1_is_hidden_bpffs_is_mounted_or_it_is_said_what_could_not_be_read():
    done = alone("true")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["signal"] == "ecn"
    refused = alone("mount -t tmpfs none /sys/fs")
    assert refused.returncode == 2
    assert f"{BPF}: the file system of BPF cannot be mounted" in refused.stderr
    assert "/proc/1/ns/mnt: cannot be read" in refused.stderr
