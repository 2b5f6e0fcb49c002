"""Internet access of a link.

One namespace stands for the machine; another, which knows nothing of links, for the internet.
"""

import json
import subprocess

import pytest

from conftest import COMMAND
from live_requirements import needs_links, needs_nat
from marqueue.live import internet, namespaces, requirements

MACHINE, BEYOND = "192.0.2.1", "192.0.2.9"
pytestmark = [needs_links, needs_nat]


@pytest.fixture(scope="module")
def host():
    """The machine, in its namespace; a receiver of iperf3 listens beyond."""
    with namespaces.namespaces("machine", "beyond") as (host, far):
        requirements.run(*f"ip link add v netns {host} type veth peer name v netns {far}".split())
        for namespace, address in (host, MACHINE), (far, BEYOND):
            requirements.batch(namespace, f"addr add {address}/24 dev v", "link set v up")
        # Namespaces of ours forward; machines do not.
        requirements.set_parameters(host, ipv4__ip_forward=0)
        command = requirements.inside(far, ["iperf3", "-s", "--forceflush"])
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert any("listening" in line for line in process.stdout)
                yield host
            finally:
                process.kill()


def link(host, *options):
    return requirements.inside(host, [*COMMAND, "link", "--rate", "10Mbit/s", *options])


def reaches(host, *options):
    command = link(host, *options, "--", "iperf3", "-c", BEYOND, "-n", "100K", "-C", "cubic")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode == 0 and "receiver" in done.stdout


def waiting(host):
    """A link that waits until its input ends."""
    command = link(host, "--internet", "--", "sh", "-c", "echo on; read end")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    assert process.stdout.readline() == "on\n"
    return process


def left(host):
    """What of links there is in the machine: forwarding on its device, its tables."""
    said = requirements.run(*requirements.inside(host, ["cat", internet.FORWARDING.format("v")]))
    listed = requirements.run(*requirements.inside(host, ["nft", "-j", "list", "tables"]))
    tables = [each for each in json.loads(listed)["nftables"] if "table" in each]
    return int(said), len(tables)


def test_a_command_reaches_beyond_the_machine_and_nothing_stays(host):
    assert reaches(host, "--internet")
    assert left(host) == (0, 0)


def test_forwarding_goes_on_as_long_as_one_link_needs_it(host):
    first, second = waiting(host), waiting(host)
    assert left(host) == (1, 2)
    first.communicate()
    assert left(host) == (1, 1)
    second.communicate()
    assert left(host) == (0, 0)


def test_what_was_on_before_stays_on(host):
    requirements.set_parameters(host, ipv4__conf__v__forwarding=1)
    assert reaches(host, "--internet")
    assert left(host) == (1, 0)
    requirements.set_parameters(host, ipv4__conf__v__forwarding=0)


def test_the_next_start_undoes_what_a_killed_one_left(host):
    killed = waiting(host)
    with killed:
        killed.kill()
    assert left(host) == (1, 1)
    done = subprocess.run(link(host, "--", "true"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert left(host) == (0, 0)


def test_rules_that_drop_what_is_forwarded_are_named(host):
    drop = (
        "table inet strict { chain passing { type filter hook forward priority 0; policy drop; }; }"
    )
    requirements.run(*requirements.inside(host, ["nft", drop]))
    command = link(host, "--internet", "--", "true")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    requirements.run(*requirements.inside(host, ["nft", "delete table inet strict"]))
    assert done.returncode == 0, done.stderr
    assert "chain passing of table inet strict" in done.stderr
