"""The state of a running link for Prometheus.

Needs root; what needs a link is skipped where the machine lacks something.
"""

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conftest import COMMAND
from live_requirements import needs_links

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families

LINK = [*COMMAND, "link", "--rate", "5Mbit/s", "--aqm", "pie"]
SEND = """
import os, socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):
    there.sendto(b"-", (os.environ["MARQUEUE_OUTSIDE"], 9))
print("sent", flush=True)
input()
"""


@contextmanager
def taken() -> Iterator[int]:
    """A port of this machine that another program has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def scraped(port: int) -> dict[tuple[str, ...], float]:
    """The samples that are served: name and labels, by the labels' names, with the value."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {
            (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
            for family in families
            for sample in family.samples
        }


@needs_links
def test_the_state_of_both_directions_is_served_while_the_command_runs():
    with taken() as port:
        pass
    command = [*LINK, "--metrics", str(port), "--", sys.executable, "-c", SEND]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "sent\n", running.stderr.read()
        found = {}
        # Ten samples a second: the first may be still to come.
        while ("marqueue_link_rate_bits_per_second", "uplink") not in found:
            found = scraped(port)
        running.stdin.write("\n")
        running.stdin.close()
        assert running.wait() == 0
    for link in ("uplink", "downlink"):
        assert found["marqueue_link_queue_packets", link] >= 0
        assert found["marqueue_link_drops_total", link] == 0
        assert 0 <= found["marqueue_link_aqm", link, "fraction", "p"] <= 1
        assert ("marqueue_link_queueing_delay_seconds", link, "0.99") in found
    with pytest.raises(OSError, match="refused"):
        scraped(port)


def test_a_wrong_or_taken_address_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with taken() as port:
        for address, message in (
            ("nine", '--metrics: got "nine", expected HOST:PORT such as "127.0.0.1:9464"'),
            ("127.0.0.1:70000", "--metrics: got"),
            (f"{port}", f"--metrics: 127.0.0.1:{port}: Address already in use"),
        ):
            done = subprocess.run(
                [*LINK, "--metrics", address, "--", "true"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 2, done.stderr
            assert message in done.stderr
