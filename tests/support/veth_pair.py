"""Two hosts with a shaper between them, for tests of AQMs in the kernel: network namespaces joined
by a veth pair, with real TCP.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live_requirements import has_ipv6, not_installed, why_no_hosts
from marqueue.live import kernel, namespaces, requirements

WHY_NOT = kernel.missing() or why_no_hosts() or not_installed("tc", "ss", "ethtool")
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no programs here: {WHY_NOT}")

BPF = Path("/sys/fs/bpf")
PINS = BPF / "marqueue"


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


def unfinished(namespace: str) -> str:
    """The TCP connections that have something to send or to be acknowledged, as ``ss`` lists
    them."""
    states = "state connected exclude time-wait exclude fin-wait-2"
    return shell(*requirements.inside(namespace, ["ss", "-Htn", *states.split()]))


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

    def tcp(
        self,
        to: str = "10.98.0.2",
        control: str = "cubic",
        size: str = "1500K",
        sender: str | None = None,
    ) -> Any:
        """Bytes from ``a``, or from the namespace ``sender``, to ``b`` over two connections.
        Returns iperf3's report when nothing more of them is on its way."""
        sender = sender or self.names["a"]
        server = subprocess.Popen(
            self.at("b", "iperf3", "-s", "-1", "--forceflush"), stdout=subprocess.PIPE, text=True
        )
        assert server.stdout
        with server.stdout:
            try:
                while "listening" not in server.stdout.readline():
                    assert server.poll() is None
                command = f"iperf3 -c {to} -C {control} -n {size} -P 2 -J".split()
                report = json.loads(shell(*requirements.inside(sender, command)))
            finally:
                server.kill()
                server.wait()
        # The kernel goes on sending what was lost at the end, for nobody.
        assert comes_true(lambda: not unfinished(sender))
        return report

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


@contextmanager
def made_pair() -> Iterator[Pair]:
    """Context manager: the hosts. Skips the test where they cannot be made."""
    with namespaces.namespaces("a", "b") as (a, b):
        pair = Pair(a, b)
        try:
            pair.make()
        except AssertionError as error:
            pytest.skip(f"no two hosts here: {error}")
        yield pair


@contextmanager
def with_nothing_attached(pair: Pair) -> Iterator[Pair]:
    """Context manager: the hosts, with nothing attached before and after."""
    yield pair
    kernel.detach("v", pair.names["a"])
    if pair.has_hook():
        pair.run("a", "tc qdisc delete dev v clsact")
