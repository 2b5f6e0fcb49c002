"""Queue disciplines in BPF, in a kernel that takes them: CHOKeW with real TCP and UDP, in virtual
time."""

import re

import pytest

from scripts import console, needs_machine, numbers, sections

pytestmark = needs_machine


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the machine printed, by section."""
    return sections(console("qdisc.sh", tmp_path_factory.mktemp("machine")))


def test_chokew_leaves_tcp_its_part_of_the_link_as_in_the_simulator(said):
    fifo, chokew = numbers(said["fifo"]), numbers(said["chokew"])
    # kbit/s of 10,000, of which the simulator gives TCP 5099 +- 102 (docs/attach.md), and with a
    # FIFO 5: what TCP has there it sent before the other flow began, and has here too.
    assert chokew["tcp"] == pytest.approx(5099, abs=500 + fifo["tcp"])
    assert chokew["tcp"] > 2 * fifo["tcp"]
    # 1514 bytes on the wire carry 1400 of UDP with 42 of headers, and 1448 of TCP.
    # They are measured over times of their own, which differ by some of a second.
    assert 8500 < chokew["tcp"] + chokew["udp"] < 10_500


def test_what_it_counts_is_what_tc_counts(said):
    stats = numbers(said["stats"])
    sent, packets, dropped = map(
        int, re.findall(r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+)", said["tc"])[0]
    )
    assert stats["packets"] == packets + dropped
    assert stats["dropped"] == dropped == stats["matched"] + stats["overflow"]
    assert stats["matched"] > 0
    assert stats["matched"] % 2 == stats["queue"] == stats["marked"] == 0
    assert sent < stats["bytes"]
    assert "backlog 0b 0p" in said["tc"]


def test_a_second_attach_changes_values_and_keeps_counters(said):
    assert said["attach"].startswith("attached true\nqdisc chokew_")
    first, *rest = said["again"].splitlines()
    assert first == "attached false"
    assert numbers("\n".join(rest)) == numbers(said["stats"])


def test_a_class_of_more_weight_loses_less(said):
    received = numbers(said["weights"])
    # Of 8 Mbit/s each.
    assert received["ef"] > 1.3 * received["plain"]


def test_the_socket_of_a_packet_gives_it_the_weight_of_its_cgroup(said):
    parameters, *_ = said["cgroups"].partition("first")
    assert parameters.startswith("attached true")
    assert "cgroup-weight./light 1\ncgroup-weight./heavy 4" in parameters
    given = numbers(said["cgroups"])
    # Of 8 Mbit/s each; the second one is in a cgroup below that of weight 4.
    assert given["second"] > 1.3 * given["first"]
    # The lowest cgroup with a weight decides.
    turned = numbers(said["cgroups in the other order"])
    assert turned["first"] > 1.3 * turned["second"]
    # Chance decides about packets, of which some 2000 a flow are received.
    equal = numbers(said["cgroups that have no weight"])
    assert equal["first"] == pytest.approx(equal["second"], rel=0.15)
    assert said["answers without a socket of their own"].splitlines()[1:] == [
        "received",
        "detached true",
    ]


def test_a_cgroup_that_is_not_there_is_named(said):
    missing, file, elsewhere, weight, twice = said["no cgroup"].splitlines()
    assert 'got \\"/nowhere\\", expected a cgroup below /sys/fs/cgroup' in missing
    assert "/sys/fs/cgroup/light/cgroup.procs: is none" in file
    assert "/sys/fs/cgroup/../../../proc: is none" in elsewhere
    assert 'got 0.5 for \\"/light\\", expected 1 to 1000000' in weight
    assert 'got \\"/sys/fs/cgroup/light\\" twice, expected one weight' in twice


def test_overload_fills_the_buffer_and_no_more(said):
    stats = numbers(said["overload"])
    assert stats["overflow"] > 0
    assert stats["queue"] <= 50 * 1514


def test_nothing_stays_when_it_is_detached_or_its_device_goes(said):
    assert said["detach"].splitlines()[0] == "detached true"
    assert "chokew" not in said["detach"]
    assert "noqueue" in said["detach"].splitlines()[-1]
    first, none, again, received, pins = said["gone with its device"].splitlines()
    assert "no AQM is attached" in none
    assert (first, again, pins) == ("attached true", "attached true", "1")
    assert "2 packets received" in received
    none, again, detached = said["removed by somebody"].splitlines()
    assert "no AQM is attached" in none
    assert (again, detached) == ("attached true", "detached true")


def test_a_root_qdisc_that_somebody_has_set_is_not_replaced(said):
    assert "got root qdisc tbf, which somebody has set" in said["in the way"]


def test_the_programs_of_tc_hooks_are_taken_by_this_kernel_too(said):
    assert said["hooks"].splitlines() == ["attached true", "detached true"] * 6


def test_the_kernel_complains_of_nothing(said):
    assert said["log"] == ""
