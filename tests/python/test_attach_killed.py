"""attach and detach that are killed (SIGKILL) at any step: the next one works, and leaves nothing
that detach does not remove."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from killed import kill_before, points
from live_requirements import not_installed
from marqueue.live import kernel
from veth_pair import Pair, made_pair, needs_kernel, shell, with_nothing_attached

STRIDE = 1 if "MARQUEUE_FAULT_TRIALS" in os.environ else 3
"""Every so many system calls are tried: all by ``make faults``."""

needs_strace = pytest.mark.skipif((why := not_installed("strace")) is not None, reason=str(why))

LAW = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets")
OTHER = kernel.Aqm.read({"name": "pi", "q_ref": "10 packets"})


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with made_pair() as pair:
        yield pair


@pytest.fixture
def hosts(pair: Pair) -> Iterator[Pair]:
    with with_nothing_attached(pair) as hosts:
        # The folder of all pins stays.
        kernel.attach("v", LAW, hosts.names["a"])
        kernel.detach("v", hosts.names["a"])
        yield hosts


def command(hosts: Pair, *words: str) -> list[str]:
    return [sys.executable, "-m", "marqueue", *words, "--netns", hosts.names["a"]]


SENT = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('10.98.0.2', 9))"
ATTACH = ("attach", "v", "--rate", "20 Mbit/s")


@needs_kernel
@needs_strace
@pytest.mark.parametrize(
    ("before", "words", "theirs"),
    [
        (None, ATTACH, False),
        (None, ATTACH, True),
        (OTHER, ATTACH, False),
        (LAW, ("detach", "v"), False),
    ],
    ids=["attach", "attach at somebody's clsact", "replace", "detach"],
)
def test_a_killed_step_leaves_nothing_that_the_next_does_not_remove(
    hosts: Pair,
    tmp_path: Path,
    before: kernel.Aqm | None,
    words: tuple[str, ...],
    theirs: bool,
):
    at = hosts.names["a"]
    if theirs:
        hosts.run("a", "tc qdisc add dev v clsact")

    def begin() -> None:
        if before:
            assert kernel.attach("v", before, at)

    begin()
    found = points(command(hosts, *words), tmp_path / "trace")
    kernel.detach("v", at)
    assert len(found) > 4
    for point in found[::STRIDE]:
        for attach_again in (False, True):
            begin()
            kill_before(point, command(hosts, *words))
            if attach_again:
                kernel.attach("v", LAW, at)
                assert (hosts.stats().aqm, len(hosts.filters())) == ("avq", 1)
                shell(*hosts.at("a", sys.executable, "-c", SENT))
                assert hosts.stats().packets > 0
            kernel.detach("v", at)
            assert hosts.filters() == [], point
            assert hosts.has_hook() == theirs, point
            assert hosts.pinned() == [], point
