"""What ``marqueue stats`` shows and serves while an AQM is attached.

Needs root; what needs the kernel is skipped where the machine lacks something.
"""

import math
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from conftest import COMMAND
from live_requirements import not_installed, why_no_hosts
from marqueue.cli.stats_page import History, shown
from marqueue.live import kernel, namespaces, requirements
from terminal import Terminal

WHY_NOT = kernel.missing() or why_no_hosts() or not_installed("tc")
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no programs here: {WHY_NOT}")

STATS = kernel.Stats(
    aqm="pi",
    rate=None,
    signal="ecn",
    parameters={"a": 0.002, "b": 0.0019, "w": 170.0, "q_ref": 10.0},
    state={"p": 0.25, "queue": 30_000.0},
    packets=100,
    bytes=150_000,
    marked=3,
    dropped=1,
    already_ce=0,
    unmarked=0,
    segmented=0,
)


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[str, ...]]:
    """A device with PI: the words of a command that name it."""
    with namespaces.namespaces("a") as [name]:
        for words in (
            "ip link add v type veth peer name w",
            "ip link set v up",
            "tc qdisc add dev v root tbf rate 20mbit burst 1600 limit 4mb",
        ):
            subprocess.run(requirements.inside(name, words.split()), check=True, timeout=60)
        kernel.attach("v", kernel.Aqm.read("pi"), name)
        yield ("v", "--netns", name)
        kernel.detach("v", name)


def test_the_page_shows_growth_by_the_second_and_variables_in_their_units():
    history = History()
    history.add(10.0, STATS)
    assert history.curves == {}
    history.add(12.0, replace(STATS, packets=300, bytes=2_650_000, marked=13))
    assert {label: list(values) for label, values in history.curves.items()} == {
        "Arrivals [Mbit/s]": [pytest.approx(10.0)],
        "Marked [packets/s]": [5.0],
        "Dropped [packets/s]": [0.0],
        "p": [0.25],
        "Queue [kB]": [30.0],
    }
    console = Console(width=60, record=True)
    console.print(shown(history, "eth0", 60, 30))
    text = console.export_text()
    assert "pi at eth0: 300 packets, 13 marked, 1 dropped" in text
    assert "Arrivals [Mbit/s]: 10" in text
    assert max(map(len, text.splitlines())) <= 60


def test_another_aqm_begins_anew_on_the_page():
    history = History()
    history.add(10.0, STATS)
    history.add(11.0, STATS)
    history.add(12.0, replace(STATS, aqm="mkc", state={"price": -math.inf, "intervals": 4.0}))
    assert history.curves == {}
    history.add(13.0, replace(STATS, aqm="mkc", state={"price": -0.5, "intervals": 24.0}))
    assert list(history.curves["Price"]) == [-0.5]
    assert "Intervals" not in history.curves


@needs_kernel
def test_watch_shows_the_page_until_it_is_interrupted(place: tuple[str, ...]):
    terminal = Terminal(*COMMAND, "stats", *place, "--watch")
    terminal.read_until("pi at v: .*Arrivals")
    terminal.type("\x03")
    assert terminal.wait() == 0


@needs_kernel
def test_prometheus_reads_the_state_until_it_is_interrupted(place: tuple[str, ...]):
    pytest.importorskip("prometheus_client")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [*COMMAND, "stats", *place, "--metrics", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        assert running.stderr.readline() == f"Metrics: http://127.0.0.1:{port}/metrics\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    assert 'marqueue_kernel_attached{device="v"} 1.0' in lines
    assert 'marqueue_kernel_state{aqm="pi",device="v",name="p"} 0.0' in lines
    assert any(line.startswith('marqueue_kernel_packets_total{device="v"}') for line in lines)


@needs_kernel
def test_what_cannot_be_shown_is_refused(marqueue, place: tuple[str, ...]):
    for options, message in (
        (("--watch",), "--watch: expected standard error to be a terminal"),
        (("--metrics", "nine"), '--metrics: got "nine"'),
        (("--metrics", "9464", "--json"), "--json: got it with --watch or --metrics"),
    ):
        done = marqueue("stats", *place, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(message)
    done = marqueue("stats", "w", *place[1:], "--metrics", "9464")
    assert done.returncode == 2
    assert "w: no AQM is attached" in done.stderr
