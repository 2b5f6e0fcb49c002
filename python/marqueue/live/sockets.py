"""Measurements from sockets (``tcp_info``, read by ``ss``) and from counters of a namespace.

Senders report windows and round-trip times, receivers the bytes received in order. ``ss`` runs at
intervals and at the end of each measuring window; counts between two readings are interpolated.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event, Thread

import numpy as np

from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.statistics.estimates import Floats

SHORTEST = 0.2
"""Shortest interval between two readings, s: each starts two processes."""
_PORT = re.compile(r":(\d+)\s+\S*:(\d+)\s")
_WORD = re.compile(r"(\w+):(\S+)")


@dataclass
class Samples:
    """The readings of one flow: rows of the time, s, and the fields of ``ss``."""

    sender: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    receiver: list[tuple[float, dict[str, str]]] = field(default_factory=list)

    def received(self, at: Floats) -> Floats:
        """Bytes received in order at the given times, s."""
        rows = sorted((t, float(row.get("bytes_received", 0))) for t, row in self.receiver)
        if not rows:
            return np.zeros(len(at))
        t, n = np.array([(rows[0][0] - SHORTEST, 0.0), *rows]).T
        values: Floats = np.interp(at, t, n)
        return values

    @property
    def last(self) -> dict[str, str]:
        """The last reading of the sender."""
        return self.sender[-1][1] if self.sender else {}

    def number(self, name: str) -> int:
        """A count of the sender, 0 if ``ss`` omits it. Of two values, such as current and total
        retransmissions, the second."""
        return int(self.last.get(name, "0").split("/")[-1])


class SocketReader:
    """A thread that reads the sockets of two namespaces, by the ports of their flows. The caller
    takes the last reading, before flows are stopped."""

    def __init__(
        self,
        namespaces: tuple[str, str],
        ports: Iterable[int],
        epoch: float,
        step: float,
        edges: Floats,
    ) -> None:
        self.namespaces = namespaces
        self.flows = {port: Samples() for port in ports}
        self.epoch = epoch
        steps = np.arange(step, edges[-1], step) if step > 0 else np.empty(0)
        self.times = np.unique(np.concatenate([steps, edges[1:-1]]))
        self._end = Event()
        self._thread = Thread(target=self._run, name="sockets", daemon=True)
        self.failure: str | None = None

    def __enter__(self) -> SocketReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def finish(self) -> None:
        """Waits for the thread. Raises RunError if a reading failed."""
        self._thread.join()
        if self.failure:
            raise RunError(self.failure)

    def _run(self) -> None:
        try:
            for at in self.times:
                left = at + self.epoch - time.monotonic()
                if self._end.wait(max(left, 0)):
                    return
                self.read()
        except (OSError, subprocess.SubprocessError, RunError) as error:
            self.failure = f"ss: {error}"

    def read(self) -> None:
        """Reads all sockets now; safe in any thread."""
        self._read(self.namespaces[1], sending=False)
        self._read(self.namespaces[0], sending=True)

    def _read(self, namespace: str, *, sending: bool) -> None:
        before = time.monotonic()
        text = requirements.run(*requirements.inside(namespace, ["ss", "-tinHO"]))
        t = (before + time.monotonic()) / 2 - self.epoch
        for port, words in parse(text):
            if port in self.flows:
                samples = self.flows[port]
                (samples.sender if sending else samples.receiver).append((t, words))


def parse(text: str) -> list[tuple[int, dict[str, str]]]:
    """The connections in the output of ``ss -tinHO`` whose two ports are equal: port and fields."""
    out = []
    for line in text.splitlines():
        match = _PORT.search(line)
        if match and match[1] == match[2]:
            out.append((int(match[1]), dict(_WORD.findall(line[match.end() :]))))
    return out


def counters(namespace: str, device: str) -> dict[str, int]:
    """Counters of a namespace: packets received with CE, with wrong checksums, and dropped by its
    device or sockets for lack of buffer space."""
    show = ["cat", "/proc/net/netstat", "/proc/net/snmp"]
    show += ["/proc/net/snmp6"] if requirements.IPV6.exists() else []
    text = requirements.run(*requirements.inside(namespace, show))
    lines = text.splitlines()
    values: dict[str, int] = {}
    for names, numbers in pairwise(lines):
        what, _, rest = names.partition(":")
        if numbers.startswith(f"{what}:") and rest.strip()[:1].isalpha():
            each = zip(rest.split(), numbers.partition(":")[2].split(), strict=False)
            values |= {f"{what}{name}": int(number) for name, number in each}

    def sum_of(*names: str) -> int:
        return sum(values.get(name, 0) for name in names)

    # Counters of IPv6 have one line each.
    alone = (line.split() for line in lines)
    values |= {words[0]: int(words[1]) for words in alone if len(words) == 2 and "6" in words[0]}
    return {
        "ce_received": sum_of("IpExtInCEPkts", "Ip6InCEPkts"),
        "bad_checksums": sum_of("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors"),
        "timeouts": sum_of("TcpExtTCPTimeouts"),
        "no_room": sum_of("UdpRcvbufErrors", "Udp6RcvbufErrors"),
        **requirements.device_drops(namespace, device),
    }


def rows(samples: Samples) -> Mapping[str, list[float]]:
    """The columns of one flow in the table of senders."""

    def number(row: dict[str, str], name: str, scale: float = 1.0) -> float:
        return float(row[name].split("/")[0]) * scale if name in row else float("nan")

    return {
        "t": [t for t, _ in samples.sender],
        "cwnd": [number(row, "cwnd") for _, row in samples.sender],
        "ssthresh": [number(row, "ssthresh") for _, row in samples.sender],
        "rtt": [float("nan")] * len(samples.sender),
        "srtt": [number(row, "rtt", 1e-3) for _, row in samples.sender],
        "rto": [number(row, "rto", 1e-3) for _, row in samples.sender],
    }
