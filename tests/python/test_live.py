"""Real packets: namespaces, TUN devices, Linux's TCP. Needs root; a machine that cannot is skipped.

Timing is only spoken of where the audit says that the machine kept up.
"""

import json
import os
import re
import select
import subprocess
import time

import pytest

from conftest import COMMAND
from marqueue.cli.link import aqm_table
from marqueue.errors import RunError
from marqueue.live import capacity, machine, places

WHY_NOT = machine.missing(("iperf3", "ss"))
real = pytest.mark.skipif(WHY_NOT is not None, reason=f"no live links here: {WHY_NOT}")


@pytest.fixture
def server():
    """A receiver of iperf3 in this namespace; its port."""
    port = "5299"
    process = subprocess.Popen(["iperf3", "-s", "-p", port], stdout=subprocess.DEVNULL)
    yield port
    process.kill()
    process.wait()


@real
def test_a_command_sends_through_the_link_and_its_exit_code_is_passed_on(
    marqueue, server, tmp_path
):
    report = tmp_path / "link.json"
    script = f"iperf3 -c $MARQUEUE_OUTSIDE -p {server} -C cubic -t 2 -J > sent.json && exit 7"
    options = "--rate", "20Mbit/s", "--delay", "5ms", "--buffer", "50 packets"
    done = marqueue("link", *options, "--json", report, "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    sent = json.loads((tmp_path / "sent.json").read_text())["end"]["sum_sent"]
    link = json.loads(report.read_text())
    up, down = link["links"]
    # Whatever was sent crossed the link, no faster than it is: 48 of 1500 bytes are no payload.
    assert up["departed_bytes"] > sent["bytes"] * 0.8
    assert up["departed_bytes"] * 8 <= 20e6 * link["seconds"]
    assert up["drops"]["overflow"] > 0
    assert down["departures"] > 0.25 * up["departures"]
    assert link["audit"]["near"]["received"] == up["arrivals"]
    assert 0 < link["audit"]["far"]["sent"] <= up["departures"]


@real
def test_links_nest(marqueue):
    inner = [*COMMAND, "link", "--rate", "5Mbit/s", "--", "ip", "-json", "-4", "addr"]
    done = marqueue("link", "--rate", "40Mbit/s", "--", *inner)
    assert done.returncode == 0, done.stderr
    addresses = [a["local"] for d in json.loads(done.stdout) for a in d["addr_info"]]
    assert sorted(addresses) == ["100.64.1.2", "127.0.0.1"]


@real
def test_what_a_killed_link_leaves_the_next_start_removes(marqueue, tmp_path):
    script = "echo $$ > pid.part; mv pid.part pid; exec sleep 60"
    command = [*COMMAND, "link", "--rate", "1Mbit/s", "--", "sh", "-c", script]
    victim = subprocess.Popen(command, cwd=tmp_path)
    name = f"{places.PREFIX}{victim.pid}-inside"
    until = time.monotonic() + 60
    while not (tmp_path / "pid").exists():
        assert victim.poll() is None
        assert time.monotonic() < until
        os.sched_yield()
    command_in_it = os.pidfd_open(int((tmp_path / "pid").read_text()))
    victim.kill()
    victim.wait()
    assert (places.NAMES / name).exists()
    done = marqueue("link", "--rate", "1Mbit/s", "--", "ip", "netns", "list")
    assert done.returncode == 0, done.stderr
    assert name not in done.stdout
    assert not (places.NAMES / name).exists()
    # Its command has gone with it; whoever inherits it may take its time to ask for its exit code.
    assert select.select([command_in_it], [], [], 10)[0]
    os.close(command_in_it)


def test_a_mistake_is_answered_by_its_option(marqueue):
    mistakes = "--rate", "40", "--uplink", "x", "--aqm", "avq:gama=1", "--loss", "2"
    done = marqueue("link", *mistakes, "--", "true")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    said = done.stderr.splitlines()
    assert sorted(line.split(",")[0] for line in said) == [
        "--aqm: gama: unknown key",
        '--loss: got "2"',
        '--rate: got "40"',
        '--uplink: got "x"',
    ]
    assert 'did you mean "gamma"?' in done.stderr


def test_a_command_that_is_not_there_is_a_mistake(marqueue):
    done = marqueue("link", "--rate", "1Mbit/s", "--", "no-such-command")
    assert (done.returncode, done.stderr) == (2, "no-such-command: no such command\n")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("red", {"name": "red"}),
        ("avq:gamma=0.98,alpha=0.15", {"name": "avq", "gamma": 0.98, "alpha": 0.15}),
        ("pie: target = 15 ms ", {"name": "pie", "target": "15 ms"}),
    ],
)
def test_an_aqm_is_written_in_one_word(text, table):
    assert aqm_table(text) == table


def test_an_aqm_whose_parameter_has_no_value_is_refused():
    with pytest.raises(RunError, match='--aqm: got "gamma", expected NAME=VALUE'):
        aqm_table("avq:gamma")


@real
def test_a_trace_of_mahimahi_is_the_capacity(marqueue, server, tmp_path):
    """Ten times in 100 ms 1504 bytes: 1.2 Mbit/s, whatever TCP would like."""
    (tmp_path / "cellular").write_text(
        "".join(f"{t}\n" for t in (1, 1, 2, 3, 3, 40, 60, 60, 99, 100))
    )
    options = "--trace", "cellular", "--buffer", "10 packets", "--json", "link.json"
    client = f"iperf3 -c $MARQUEUE_OUTSIDE -p {server} -C cubic -t 1"
    done = marqueue("link", *options, "--", "sh", "-c", client)
    assert done.returncode == 0, done.stderr
    link = json.loads((tmp_path / "link.json").read_text())
    laps = link["seconds"] / 0.1 + 1
    assert 0 < link["links"][0]["departed_bytes"] <= 15040 * laps


@real
def test_the_rate_changes_at_its_time(marqueue, server, tmp_path):
    options = "--rate", "50Mbit/s", "--schedule", "1ms=2Mbit/s", "--json", "link.json"
    client = f"iperf3 -c $MARQUEUE_OUTSIDE -p {server} -C cubic -t 1"
    done = marqueue("link", *options, "--", "sh", "-c", client)
    assert done.returncode == 0, done.stderr
    link = json.loads((tmp_path / "link.json").read_text())
    # The handshake alone takes longer than until the change.
    assert 0 < link["links"][0]["departed_bytes"] <= 2e6 / 8 * link["seconds"] + 50e6 / 8 * 1e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--schedule", "5s"), '--schedule: got "5s", expected TIME=RATE'),
        (("--schedule", "5s=3 ms"), "--schedule: 0.rate"),
        (("--schedule", "5s=1Mbit/s", "--schedule", "2s=1Mbit/s"), "--schedule: 1.at"),
    ],
)
def test_a_schedule_that_is_wrong_is_refused(marqueue, options, said):
    done = marqueue("link", "--rate", "1Mbit/s", *options, "--", "true")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n2 ms\n", 'trace:2: got "2 ms", expected a time in ms'),
        ("5\n3\n", 'trace:2: got "3", expected times that do not decrease'),
        ("0\n", "expected at least one time above 0 ms"),
    ],
)
def test_a_trace_that_is_none_is_answered_with_its_line(text, said, tmp_path):
    (tmp_path / "trace").write_text(text)
    with pytest.raises(RunError, match=re.escape(said)):
        capacity.read(tmp_path / "trace")
