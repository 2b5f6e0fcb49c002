"""Where packets that a link delivers are handled."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_requirements import needs_links
from marqueue.live import requirements
from marqueue.live.namespaces import namespaces
from marqueue.live.receive_steering import mask, steer


@pytest.mark.parametrize(
    ("cpus", "text"),
    [([0], "1"), ([0, 1, 5], "23"), ([31], "80000000"), ([32], "1,00000000"), ([], "0")],
)
def test_a_mask_is_written_as_linux_reads_it(cpus: list[int], text: str):
    assert mask(cpus) == text


@given(st.sets(st.integers(0, 200)))
def test_a_mask_has_the_bits_of_its_processors(cpus: set[int]):
    bits = int(mask(cpus).replace(",", ""), 16)
    assert {cpu for cpu in range(201) if bits >> cpu & 1} == cpus


@needs_links
def test_a_device_of_a_namespace_is_steered_to_the_senders_processors():
    cpus = requirements.processors()
    if max(os.sched_getaffinity(0)) in cpus:
        pytest.skip("there is one processor")
    with namespaces("steered") as [namespace]:
        requirements.batch(namespace, "tuntap add dev mq0 mode tun")
        assert steer(namespace, "mq0")
        shown = "mount -t sysfs sysfs /sys && cat /sys/class/net/mq0/queues/rx-0/rps_cpus"
        command = ["unshare", "--mount", "sh", "-c", shown]
        told = requirements.run(*requirements.inside(namespace, command)).strip()
        assert int(told.replace(",", ""), 16) == int(mask(cpus).replace(",", ""), 16)
        assert not steer(namespace, "absent")
