"""AQMs in the kernel at the ingress of a device: what it has received."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.live import kernel
from marqueue.live.requirements import set_parameters
from veth_pair import Pair, comes_true, made_pair, needs_kernel

LAW = kernel.Aqm.read("avq", "10 Mbit/s", buffer="20 packets")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with made_pair() as pair:
        # Its routers and groups would be asked for at any time, also between two counts.
        for host in "ab":
            set_parameters(pair.names[host], ipv6__conf__all__disable_ipv6=1)
        yield pair


@pytest.fixture
def hosts(pair: Pair) -> Iterator[Pair]:
    """The hosts; nothing is attached to ``b`` afterwards."""
    yield pair
    for hook in kernel.HOOKS:
        kernel.detach("v", pair.names["b"], hook)
    assert not has_clsact(pair)


def has_clsact(hosts: Pair) -> bool:
    return "clsact" in hosts.run("b", "tc qdisc show dev v")


def stats(hosts: Pair, hook: str = "ingress") -> kernel.Stats:
    told = kernel.stats("v", hosts.names["b"], hook)
    assert told
    return told


def at_the_sender_alone(hosts: Pair) -> tuple[int, int]:
    """Packets and bytes that were counted at ``a`` and not at ``b``."""
    sent, received = hosts.stats(), stats(hosts)
    return sent.packets - received.packets, sent.bytes - received.bytes


@needs_kernel
def test_what_is_marked_on_arrival_is_delivered_with_ce(hosts: Pair):
    assert kernel.attach("v", LAW, hosts.names["b"], "ingress")
    before = hosts.received_ce()
    hosts.tcp()
    assert stats(hosts).marked > 0
    assert comes_true(lambda: hosts.received_ce() - before == stats(hosts).marked)
    assert stats(hosts).dropped == 0


@needs_kernel
def test_where_signals_are_losses_packets_are_dropped_before_delivery(hosts: Pair):
    law = kernel.Aqm.read("avq", "10 Mbit/s", buffer="20 packets", signal="drop")
    kernel.attach("v", law, hosts.names["b"], "ingress")
    report = hosts.tcp()
    assert stats(hosts).dropped > 0
    assert report["end"]["sum_sent"]["retransmits"] > 0


@needs_kernel
@pytest.mark.parametrize("whole", [False, True])
def test_packets_count_as_at_the_sender_whether_or_not_they_come_in_one_buffer(
    hosts: Pair, whole: bool
):
    if whole:
        # The token bucket takes apart what is larger than its burst.
        hosts.offload("on")
        hosts.run("a", "tc qdisc replace dev v root tbf rate 20mbit burst 70kb limit 4mb")
    fast = kernel.Aqm.read("avq", "10 Gbit/s")
    kernel.attach("v", fast, hosts.names["a"])
    kernel.attach("v", LAW, hosts.names["b"], "ingress")
    try:
        # What was sent between the two, a request for an address, say.
        already = at_the_sender_alone(hosts)
        hosts.tcp()
        assert (stats(hosts).segmented > 0) == whole
        # Those that are on their way come.
        assert comes_true(lambda: at_the_sender_alone(hosts) == already)
    finally:
        kernel.detach("v", hosts.names["a"])
        hosts.run("a", "tc qdisc replace dev v root tbf rate 20mbit burst 1600 limit 4mb")
        hosts.offload("off")


@needs_kernel
@pytest.mark.parametrize("first", kernel.HOOKS)
def test_both_hooks_have_an_aqm_of_their_own_and_the_last_one_takes_clsact_away(
    hosts: Pair, first: str
):
    at = hosts.names["b"]
    other = next(each for each in kernel.HOOKS if each != first)
    law = {first: LAW, other: kernel.Aqm.read("avq", "30 Mbit/s")}
    assert kernel.attach("v", law[first], at, first)
    assert kernel.attach("v", law[other], at, other)
    hosts.tcp(size="100K")
    assert stats(hosts, first).rate == 10e6
    assert stats(hosts, other).rate == 30e6
    assert stats(hosts, "ingress").bytes > stats(hosts, "egress").bytes > 0
    assert kernel.detach("v", at, first)
    assert kernel.stats("v", at, first) is None
    assert stats(hosts, other).rate == 30e6
    assert has_clsact(hosts)
    assert kernel.detach("v", at, other)
    assert not has_clsact(hosts)


@needs_kernel
def test_an_aqm_that_goes_by_a_queue_is_refused_where_there_is_none(hosts: Pair):
    red = kernel.Aqm.read("red", "10 Mbit/s")
    with pytest.raises(kernel.KernelRefused, match="got red at ingress, expected one of avq"):
        kernel.attach("v", red, hosts.names["b"], "ingress")
    assert not has_clsact(hosts)


@needs_kernel
def test_the_command_attaches_shows_and_detaches_at_ingress(hosts: Pair):
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--netns", hosts.names["b"], "--hook", "ingress"])
        assert done.exit_code == 0, done.output
        return done.output

    assert "avq is attached to v, at tc's ingress hook." in run(
        "attach", "v", "--rate", "10 Mbit/s"
    )
    assert json.loads(run("stats", "v", "--json"))["rate"] == 10e6
    assert "was removed" in run("detach", "v")
    wrong = CliRunner().invoke(app, ["detach", "v", "--hook", "inside"])
    assert 'got "inside", expected one of egress, ingress' in str(wrong.exception)


@needs_kernel
def test_the_edge_of_drq_is_attached_without_a_rate_and_has_none_if_one_is_given(hosts: Pair):
    words = ["attach", "v", "--aqm", "drq", "--netns", hosts.names["b"], "--hook", "ingress"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "as the edge of its network, and goes by no rate and no queue" in done.output
    assert stats(hosts).rate is None
    again = CliRunner().invoke(app, [*words, "--rate", "20 Mbit/s"])
    assert again.exit_code == 0, again.output
    assert stats(hosts).rate is None


@needs_kernel
def test_the_price_of_a_link_is_written_on_arrival_too(hosts: Pair):
    law = kernel.Aqm.read("mkc", "10 Mbit/s")
    kernel.attach("v", law, hosts.names["b"], "ingress")
    hosts.tcp(size="300K")
    assert stats(hosts).state["intervals"] > 0
    assert stats(hosts).bytes > 0
