"""Runs ns-2 with dumbbell.tcl and reads its output."""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SCRIPT = Path(__file__).with_name("dumbbell.tcl")
PACKAGE = "ns2"
BYTES_WRAP = 2**32
"""Tcl reads the byte counters of ns-2 modulo this number."""
POLL = 0.02
"""Interval at which a running ns-2 is polled, s."""


@dataclass(frozen=True)
class Window:
    """Measurements at the bottleneck between two edges."""

    begin: float
    end: float
    arrivals: int
    departures: int
    drops: int
    marks: int
    utilization: float
    queue: float
    """Time average, packets, without the packet in transmission."""
    tcp_bytes: tuple[int, ...]
    """Bytes received of each long TCP flow, in order; `out` flows come first."""
    udp_bytes: tuple[int, ...]
    """Bytes received of each constant-rate flow."""
    rate: float
    """Rate of the link, bit/s."""

    @property
    def loss(self) -> float:
        """Lost packets / arrivals."""
        return self.drops / max(self.arrivals, 1)

    @property
    def tcp(self) -> float:
        """Goodput of long TCP flows as a share of the link's rate."""
        return self._share(self.tcp_bytes)

    @property
    def udp(self) -> float:
        """Goodput of constant-rate flows as a share of the link's rate."""
        return self._share(self.udp_bytes)

    def _share(self, got: tuple[int, ...]) -> float:
        return 8 * sum(got) / (self.rate * (self.end - self.begin))


@dataclass(frozen=True)
class Run:
    """Measurements of a run, and its CPU time."""

    windows: list[Window]
    cpu: float
    """User CPU time of the process, s."""
    setup: float
    """The part of it before the first event, s."""
    peak_kb: int

    @property
    def departures(self) -> int:
        """Packets that left the bottleneck."""
        return sum(w.departures for w in self.windows)


def installed() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which("ns") is not None


def install() -> None:
    """Installs Debian's package if ns-2 is missing."""
    if not installed():
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", PACKAGE], check=True
        )


def run(arguments: Mapping[str, str], look: Callable[[], None] = lambda: None) -> Run:
    """Runs dumbbell.tcl. ``look`` is called at intervals; if it raises, ns-2 is killed."""
    command = ["ns", str(SCRIPT), *(each for pair in arguments.items() for each in pair)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=directory, text=True
        )
        usage = _wait(process, look)
        out.seek(0)
        text = out.read()
    if process.returncode != 0:
        raise RuntimeError(f"ns failed: {text.strip() or process.returncode}")
    lines = [line.split() for line in text.splitlines()]
    once = {words[0]: float(words[1]) for words in lines if len(words) == 2}
    sums, tcp, udp = (
        [[float(x) for x in words[1:]] for words in lines if words[0] == name]
        for name in ("window", "tcp", "udp")
    )
    rate = float(arguments["rate"])
    edges = pairwise([[0.0] * 7, *sums])
    return Run(
        [
            _window(a, b, rate, of_tcp, of_udp)
            for (a, b), of_tcp, of_udp in zip(edges, _received(tcp), _received(udp), strict=True)
        ],
        cpu=usage.ru_utime,
        setup=once["cpu_setup"],
        peak_kb=int(once["peak_kb"]),
    )


def _wait(process: subprocess.Popen[str], look: Callable[[], None]) -> resource.struct_rusage:
    """Waits for the end of a process. Returns its resource usage."""
    try:
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return usage
            look()
            time.sleep(POLL)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _received(sums: list[list[float]]) -> list[tuple[int, ...]]:
    """Bytes received of each flow between two edges."""
    return [
        tuple(int(y - x) % BYTES_WRAP for x, y in zip(a, b, strict=True))
        for a, b in pairwise([[0.0] * len(sums[0]), *sums])
    ]


def _window(
    a: list[float], b: list[float], rate: float, tcp: tuple[int, ...], udp: tuple[int, ...]
) -> Window:
    t, arrivals, departures, drops, marks, sent, integral = (
        y - x for x, y in zip(a, b, strict=True)
    )
    return Window(
        begin=a[0],
        end=b[0],
        arrivals=int(arrivals),
        departures=int(departures),
        drops=int(drops),
        marks=int(marks),
        utilization=sent % BYTES_WRAP * 8 / (rate * t),
        queue=integral / t,
        tcp_bytes=tcp,
        udp_bytes=udp,
        rate=rate,
    )
