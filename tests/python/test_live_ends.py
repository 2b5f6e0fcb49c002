"""Termination of a link: whatever signal ends it, nothing is left behind.

Needs root; skipped where the machine lacks something.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from conftest import COMMAND, called
from live_requirements import becomes_true, needs_links, processes_with
from marqueue.live import namespaces
from small_scenario import SMALL
from terminal import Terminal

LINK = [*COMMAND, "link", "--rate", "1Mbit/s"]
NUMBERS = count()
FAMILY = """\
for n in 1 2 3; do setsid sh -c "sleep $0 & sleep $0" & done
echo on
sleep $0
"""
"""A command with children in sessions of their own, and children of these."""


def unique() -> str:
    """A time to sleep, s, by which processes are found."""
    return f"3600.{os.getpid()}{next(NUMBERS):03}"


@contextmanager
def started(*command, **pipes):
    """A link that has said so."""
    arguments = {"stdout": subprocess.PIPE, "text": True, **pipes}
    with subprocess.Popen(command, **arguments) as process:
        try:
            assert process.stdout.readline() == "on\n"
            yield process
        finally:
            process.kill()


def traces(pid: int) -> list[str]:
    """What there is of the link of a process: names, locks, devices."""
    names = [each.name for each in (*namespaces.NAMES.iterdir(), *namespaces.LOCKS.iterdir())]
    devices = os.listdir("/sys/class/net")
    return [n for n in names if n.startswith(f"{namespaces.PREFIX}{pid}-")] + [
        d for d in devices if d == f"mq-{pid}"
    ]


@needs_links
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_link_and_keeps_what_it_measured(number, tmp_path):
    sleep, measured = unique(), tmp_path / "link.json"
    with started(*LINK, "--json", measured, "--", "sh", "-c", FAMILY, sleep) as link:
        assert becomes_true(lambda: len(processes_with(sleep)) > 10)
        link.send_signal(number)
        assert link.wait(timeout=60) == 128 + number
    assert processes_with(sleep) == []
    assert traces(link.pid) == []
    assert json.loads(measured.read_text())["seconds"] > 0


@needs_links
def test_a_command_may_end_in_its_own_way_when_it_is_told_to():
    script = "trap 'echo told; exit 3' TERM; echo on; while :; do sleep 0.05; done"
    with started(*LINK, "--", "sh", "-c", script) as link:
        link.terminate()
        assert link.stdout.read() == "told\n"
        assert link.wait(timeout=60) == 128 + signal.SIGTERM


@needs_links
def test_signals_that_were_ignored_before_stay_ignored():
    script = "echo on; read end; echo still here"
    with started("nohup", *LINK, "--", "sh", "-c", script, stdin=subprocess.PIPE) as link:
        link.send_signal(signal.SIGHUP)
        said, _ = link.communicate("end\n", timeout=60)
    assert (said, link.returncode) == ("still here\n", 0)


@needs_links
def test_all_processes_of_the_command_die_with_a_link_that_is_killed():
    sleep = unique()
    with started(*LINK, "--", "sh", "-c", FAMILY, sleep) as link:
        assert becomes_true(lambda: len(processes_with(sleep)) > 10)
        link.kill()
        link.wait()
        # Without another start.
        assert becomes_true(lambda: not processes_with(sleep))


@needs_links
def test_what_the_command_leaves_in_the_background_ends_with_it(tmp_path):
    sleep = unique()
    script = 'setsid sleep "$0" & exit 5'
    done = called(tmp_path, *LINK, "--", "sh", "-c", script, sleep)
    assert done.returncode == 5, done.stderr
    assert processes_with(sleep) == []


@needs_links
@pytest.mark.parametrize("files", [16, 24, 32, 40, 48])
def test_too_few_files_are_refused_and_leave_nothing(files, tmp_path):
    script = f'ulimit -n {files}; echo $$; exec "$@"'
    done = called(tmp_path, "sh", "-c", script, "sh", *LINK, "--", "true")
    assert done.returncode == 2
    assert re.fullmatch(rf"open files: got a limit of {files} \(ulimit -n\) .*\n", done.stderr)
    assert traces(int(done.stdout)) == []


@needs_links
def test_packets_that_came_faster_than_they_were_read_make_it_invalid(tmp_path):
    """The link is stopped while more packets come than its device holds.

    A connection that is refused came last through the device: all packets before it were read.
    """
    script = (
        "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print('on');"
        "to = (os.environ['MARQUEUE_OUTSIDE'], 9);"
        "input(); [s.sendto(bytes(100), to) for _ in range(15_000)];"
        "print('sent'); input(); socket.socket().connect_ex(to)"
    )
    command = ["--", sys.executable, "-u", "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(*LINK, "--json", tmp_path / "link.json", *command, **pipes) as link:
        link.send_signal(signal.SIGSTOP)
        print(file=link.stdin, flush=True)
        assert link.stdout.readline() == "sent\n"
        link.send_signal(signal.SIGCONT)
        _, said = link.communicate("\n", timeout=60)
    told = json.loads((tmp_path / "link.json").read_text())
    lost = told["audit"]["near"]["tun_drops"]
    assert lost > 0
    assert lost + told["audit"]["near"]["received"] >= 15_000
    assert not told["valid"]
    assert f"{lost} lost before the link" in said
    [why] = [line for line in said.splitlines() if line.startswith(f"Error: invalid: {lost} ")]
    assert why.removeprefix("Error: invalid: ") in told["invalid_reasons"]


@needs_links
def test_ctrl_c_is_for_the_command():
    terminal = Terminal(
        *LINK, "--", "sh", "-c", "trap 'exit 9' INT; echo on; while :; do sleep 0.05; done"
    )
    terminal.read_until("on\r\n")
    terminal.type("\x03")
    assert terminal.wait() == 9


@needs_links
def test_a_terminal_that_is_closed_ends_the_link_and_keeps_what_it_measured(tmp_path):
    sleep, measured = unique(), tmp_path / "link.json"
    command = ["sh", "-c", "trap '' HUP; echo on; sleep $0; echo end", sleep]
    terminal = Terminal(*LINK, "--json", str(measured), "--status", "--", *command)
    terminal.read_until("on\r\n.*Mbit/s")
    assert terminal.close() == 128 + signal.SIGHUP
    assert processes_with(sleep) == []
    assert json.loads(measured.read_text())["seconds"] > 0


@needs_links
def test_a_shell_behind_the_link_has_job_control():
    terminal = Terminal(*LINK, "--", "env", "TERM=dumb", "bash", "--norc", "-i")
    terminal.type("PS1='ready> '\n")
    terminal.read_until("\nready> ")
    terminal.type("sh -c 'echo g''o; exec sleep 600'\n")
    terminal.read_until("\ngo\r\n")
    terminal.wait_for("sleep")
    terminal.type("\x1a")
    terminal.read_until(r"Stopped .*\r\n.*ready> ")
    terminal.type("fg\n")
    terminal.read_until(r"fg\r\n")
    terminal.wait_for("sleep")
    terminal.type("\x03")
    terminal.read_until("ready> ")
    terminal.type("echo code $?\n")
    terminal.read_until("code 130\r\n")
    terminal.type("exit 4\n")
    assert terminal.wait() == 4


@needs_links
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_sender_survives_a_scenario_that_is_ended(number, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL.replace('"4 s"', '"600 s"'))
    command = [*COMMAND, "live", "small.toml", "--set", "transport.default.preset=linux"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        mine = f"{namespaces.PREFIX}{run.pid}-"
        senders = []

        def has_started() -> bool:
            # Read once: a process that executes its next program has no command line meanwhile.
            senders[:] = processes_of(run.pid, "iperf3")
            return bool(senders) or run.poll() is not None

        assert becomes_true(has_started)
        run.send_signal(number)
        _, said = run.communicate(timeout=60)
    assert run.returncode in (128 + number, -number), said
    assert senders
    assert becomes_true(lambda: not any(Path(f"/proc/{pid}").exists() for pid in senders))
    if number == signal.SIGTERM:
        assert [each for each in namespaces.NAMES.iterdir() if each.name.startswith(mine)] == []
    assert list(tmp_path.glob("results/[!.]*")) == []


def processes_of(parent: int, word: str) -> list[int]:
    """Children of a process that have a word on their command line."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    mine = children.read_text().split() if children.exists() else []
    return [pid for pid in processes_with(word) if str(pid) in mine]


@needs_links
def test_a_replication_that_is_invalid_is_run_again(marqueue, small_file):
    # No machine releases 99 of 100 packets within 60 ns, or 999 of 1000 within a tenth of 4 us.
    changes = (
        "topology.bottleneck.rate=100 Gbit/s",
        "topology.bottleneck.delay=1 us",
        "topology.access.delay=1 us",
        "topology.rtts=['4 us']",
        "duration=2 s",
        "transport.default.preset=linux",
    )
    changed = [word for each in changes for word in ("--set", each)]
    done = marqueue("live", small_file, *changed, "--replications", "1", "--retries", "1")
    assert done.returncode == 4, done.stderr
    assert "Each is run again if the machine does not keep up, once at most." in done.stderr
    assert "Replication 0 was run again once: the machine had not kept up." in done.stderr
    assert "Error: invalid: " in done.stderr
