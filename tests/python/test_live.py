"""Real packets: namespaces, TUN devices and Linux's TCP.

Needs root; skipped where the machine lacks something. Nothing here depends on the machine's speed.
"""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, called
from live_requirements import needs_ipv6, needs_links
from marqueue.cli.aqm_option import aqm_table
from marqueue.cli.link import plan_of
from marqueue.errors import RunError
from marqueue.live import capacity, namespaces, requirements
from marqueue.live.link import run_behind


@pytest.fixture
def outside():
    """A namespace to start links from: without firewall, and without anybody else's links."""
    with namespaces.namespaces("outside") as [name]:
        yield name


@pytest.fixture
def link(outside, tmp_path):
    """Runs marqueue link there."""

    def command(*arguments) -> subprocess.CompletedProcess[str]:
        inside = requirements.inside(outside, [*COMMAND, "link", *map(str, arguments)])
        return called(tmp_path, *inside)

    return command


@pytest.fixture
def server(outside):
    """A receiver of iperf3 there that listens."""
    command = requirements.inside(outside, ["iperf3", "-s", "--forceflush"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert any("listening" in line for line in process.stdout)
            yield
        finally:
            process.kill()


@needs_links
def test_a_command_sends_through_the_link_and_its_exit_code_is_passed_on(link, server, tmp_path):
    script = "iperf3 -c $MARQUEUE_OUTSIDE -C cubic -t 2 -J > sent.json && exit 7"
    options = "--rate", "20Mbit/s", "--delay", "5ms", "--buffer", "10 packets"
    done = link(*options, "--json", "link.json", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    received = json.loads((tmp_path / "sent.json").read_text())["end"]["sum_received"]["bytes"]
    told = json.loads((tmp_path / "link.json").read_text())
    up, down = told["links"]
    # Whatever came crossed the link, no faster than it is; more than a first window needs answers.
    assert up["departed_bytes"] > received > 10 * 1500
    assert up["departed_bytes"] * 8 <= 20e6 * told["seconds"]
    assert up["drops"]["overflow"] > 0
    assert told["audit"]["near"]["received"] == up["arrivals"]
    assert told["audit"]["far"]["received"] == down["arrivals"]
    assert 0 < told["audit"]["far"]["sent"] <= up["departures"]
    assert 0 < told["audit"]["near"]["sent"] <= down["departures"]


@needs_links
@needs_ipv6
def test_marks_are_received_as_they_were_set_in_ipv6_too(link, server, outside, tmp_path):
    script = "echo 1 > /proc/sys/net/ipv4/tcp_ecn; iperf3 -6 -c $MARQUEUE_OUTSIDE6 -C cubic -t 2"
    options = "--rate", "10Mbit/s", "--delay", "5ms", "--aqm", "avq", "--buffer", "20 packets"
    done = link(*options, "--json", "link.json", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "link.json").read_text())
    counts = requirements.run(*requirements.inside(outside, ["cat", "/proc/net/snmp6"])).split()
    received = int(counts[counts.index("Ip6InCEPkts") + 1])
    assert told["audit"]["far"]["ce_set"] == told["audit"]["far"]["ce_sent"] == received > 0
    assert told["audit"]["near"]["malformed"] == told["audit"]["far"]["malformed"] == 0


@needs_links
@needs_ipv6
def test_nested_links_lead_to_the_outermost_side_in_ipv6_too(link, server):
    inner = [*COMMAND, "link", "--rate", "20Mbit/s", "--", "sh", "-c"]
    script = f"{shlex.join(inner)} 'iperf3 -c '$MARQUEUE_OUTSIDE6' -C cubic -n 100K'"
    done = link("--rate", "20Mbit/s", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert "receiver" in done.stdout


@needs_links
def test_without_ipv6_a_link_has_ipv4_alone(monkeypatch, capfd):
    monkeypatch.setattr(requirements, "IPV6", Path("/nowhere"))
    plan = plan_of(*[{"rate": "1Mbit/s", "delay": "0 ms", "aqm": "droptail"}] * 2, 1500, 1)
    script = "echo ${MARQUEUE_OUTSIDE6:-none}; ip -o addr show dev mq0"
    ended = run_behind(plan, 1, 1500, ["sh", "-c", script])
    said = capfd.readouterr().out.splitlines()
    assert (ended.exit_code, said[0]) == (0, "none")
    assert [line for line in said if "fd6d" in line] == []


@needs_links
def test_links_nest(link):
    inner = [*COMMAND, "link", "--rate", "5Mbit/s", "--", "ip", "-json", "-4", "addr"]
    done = link("--rate", "40Mbit/s", "--", *inner)
    assert done.returncode == 0, done.stderr
    addresses = [a["local"] for d in json.loads(done.stdout) for a in d["addr_info"]]
    assert sorted(addresses) == ["100.64.1.2", "127.0.0.1"]


@needs_links
def test_what_a_killed_link_leaves_the_next_start_removes(marqueue):
    command = [*COMMAND, "link", "--rate", "1Mbit/s", "--", "sh", "-c", "echo on; exec sleep 600"]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert victim.stdout.readline() == "on\n"
    name = f"{namespaces.PREFIX}{victim.pid}-inside"
    # Nobody else who starts meanwhile clears it away.
    with namespaces.setup_lock():
        victim.kill()
        victim.wait()
        assert (namespaces.NAMES / name).exists()
    done = marqueue("link", "--rate", "1Mbit/s", "--", "ip", "netns", "list")
    assert done.returncode == 0, done.stderr
    assert name not in done.stdout
    assert not (namespaces.NAMES / name).exists()
    victim.stdout.close()


@needs_links
def test_what_was_killed_before_its_namespace_was_made_is_cleared_too():
    name = f"{namespaces.PREFIX}0-inside"
    with namespaces.setup_lock():
        for half_made in namespaces.LOCKS / name, namespaces.NAMES / name:
            half_made.touch()
        assert name in namespaces.clear_leftovers()
    assert not (namespaces.NAMES / name).exists()


def test_an_error_names_the_option(marqueue):
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
        (
            "chokew:weights={EF=4, 10=2},l_th=9",
            {"name": "chokew", "weights": {"EF": 4, "10": 2}, "l_th": 9},
        ),
    ],
)
def test_an_aqm_is_written_in_one_word(text, table):
    assert aqm_table(text) == table


def test_an_aqm_whose_parameter_has_no_value_is_refused():
    with pytest.raises(RunError, match='--aqm: got "gamma", expected NAME=VALUE'):
        aqm_table("avq:gamma")


@needs_links
def test_a_trace_of_mahimahi_is_the_capacity(link, server, tmp_path):
    """Ten times in 100 ms 1504 bytes: 1.2 Mbit/s, whatever TCP would like."""
    (tmp_path / "cellular").write_text(
        "".join(f"{t}\n" for t in (1, 1, 2, 3, 3, 40, 60, 60, 99, 100))
    )
    options = "--trace", "cellular", "--buffer", "10 packets", "--json", "link.json"
    done = link(*options, "--", "sh", "-c", "iperf3 -c $MARQUEUE_OUTSIDE -C cubic -t 1")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "link.json").read_text())
    laps = told["seconds"] / 0.1 + 1
    assert 0 < told["links"][0]["departed_bytes"] <= 15040 * laps


@needs_links
def test_the_rate_changes_at_its_time(link, server, tmp_path):
    options = "--rate", "50Mbit/s", "--schedule", "1ms=2Mbit/s", "--json", "link.json"
    done = link(*options, "--", "sh", "-c", "iperf3 -c $MARQUEUE_OUTSIDE -C cubic -t 1")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "link.json").read_text())
    # At 50 Mbit/s no longer than until the change.
    assert 0 < told["links"][0]["departed_bytes"] <= 2e6 / 8 * told["seconds"] + 50e6 / 8 * 1e-3


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
def test_an_invalid_trace_is_refused_with_its_line(text, said, tmp_path):
    (tmp_path / "trace").write_text(text)
    with pytest.raises(RunError, match=re.escape(said)):
        capacity.read(tmp_path / "trace")


EVERY_TENTH = """
import marqueue
from marqueue import DROP, PASS


@marqueue.aqm{options}
class Tenth:
    seen = marqueue.probe("packets")

    def on_arrival(self, packet, queue, now):
        self.seen += 1
        return DROP if self.seen % 10 == 0 else PASS
"""
SEND = ("sh", "-c", "iperf3 -c $MARQUEUE_OUTSIDE -C cubic -t 1")


@needs_links
@pytest.mark.parametrize("options", ["", "(jit=True)"], ids=["interpreted", "compiled"])
def test_a_class_in_python_decides_about_real_packets(options, link, server, tmp_path):
    (tmp_path / "tenth.py").write_text(EVERY_TENTH.replace("{options}", options), encoding="utf-8")
    given = "--rate", "20Mbit/s", "--aqm", "python:tenth.py:Tenth", "--buffer", "1000 packets"
    done = link(*given, "--json", "link.json", "--report", "kept", "--", *SEND)
    assert done.returncode == 0, done.stderr
    assert "Note: tenth.py is a program in Python. It can do whatever you can do." in done.stderr
    up, down = json.loads((tmp_path / "link.json").read_text())["links"]
    # Ten are needed until one is dropped; how many come in a second depends on the machine.
    assert up["arrivals"] >= 10
    # Each direction has an object of its own.
    for direction in (up, down):
        assert direction["drops"]["early"] == direction["arrivals"] // 10
    assert (tmp_path / "kept" / "tenth.py").exists()


BREAKS = EVERY_TENTH.format(options="").replace("DROP if", "1 / 0 if")


@needs_links
def test_a_class_that_raises_ends_the_link_and_its_command(link, server, tmp_path):
    (tmp_path / "tenth.py").write_text(BREAKS, encoding="utf-8")
    given = "--rate", "20Mbit/s", "--aqm", "python:tenth.py:Tenth", "--json", "link.json"
    done = link(*given, "--", "sh", "-c", "iperf3 -c $MARQUEUE_OUTSIDE -t 600 >/dev/null")
    assert done.returncode == 1, done.stderr
    assert re.search(r"link: tenth.py:Tenth: on_arrival, after \d+ packets, at ", done.stderr)
    assert 'tenth.py", line 12, in on_arrival' in done.stderr
    assert not (tmp_path / "link.json").exists()


@needs_links
def test_a_class_that_raises_ends_a_live_run(marqueue, small_file, tmp_path):
    (tmp_path / "tenth.py").write_text(BREAKS, encoding="utf-8")
    changes = "duration=10 min", "topology.bottleneck.aqm=python:tenth.py:Tenth"
    changed = [word for each in changes for word in ("--set", each)]
    done = marqueue("live", small_file, *changed, "--replications", "1", "--out", "out")
    assert done.returncode == 1, done.stderr
    assert 'tenth.py", line 12, in on_arrival' in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("aqm", "message"),
    [
        ("python:none.py:Mine", "--aqm: none.py cannot be read: No such file or directory"),
        ("python:mine", "expected python:FILE.py:CLASS with a file beside the scenario"),
        ("python:tenth.py:Tenth:every=5", "--aqm: every: unknown key"),
    ],
)
def test_a_class_that_cannot_manage_a_link_is_refused(aqm, message, marqueue, tmp_path):
    (tmp_path / "tenth.py").write_text(EVERY_TENTH.format(options=""), encoding="utf-8")
    done = marqueue("link", "--rate", "1Mbit/s", "--aqm", aqm, "--", "true")
    assert done.returncode == 2
    assert message in done.stderr
