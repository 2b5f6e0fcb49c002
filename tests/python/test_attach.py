"""AVQ in the kernel: real TCP over a veth pair between two namespaces."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from live_requirements import needs_ipv6
from marqueue.cli import app
from marqueue.live import kernel
from veth_pair import (
    Pair,
    comes_true,
    made_pair,
    needs_kernel,
    with_nothing_attached,
)

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
