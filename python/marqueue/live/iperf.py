"""TCP flows without an end: an iperf3 sender and receiver for each, terminated after the run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.live.flows import Flow

PATIENCE = 20.0
"""Seconds within which all run_receivers must be ready."""
STEP = 0.02
"""Seconds between two checks of the clock."""
Process = subprocess.Popen[str]


@contextmanager
def run_receivers(namespace: str, flows: Sequence[Flow]) -> Iterator[None]:
    """Runs a receiver for each flow. Raises RunError if they are not ready in time."""
    cpus = requirements.processors()
    started: list[Process] = []
    try:
        for flow in flows:
            serve = ["iperf3", "-s", "-1", "-B", flow.host.far, "-p", str(flow.port)]
            started.append(_start(requirements.inside(namespace, serve, cpus)))
        _wait_until_ready(namespace, len(flows))
        yield
    finally:
        _end(started)


def _wait_until_ready(namespace: str, number: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        listening = requirements.run(*requirements.inside(namespace, ["ss", "-tlnH"]))
        if len(listening.splitlines()) >= number:
            return
        time.sleep(STEP)
    raise RunError(f"iperf3: not all of {number} receivers were ready after {PATIENCE:g} s")


def run_senders(
    namespace: str,
    flows: Sequence[Flow],
    epoch: float,
    duration: float,
    tell: Callable[[float], None],
    read_sockets: Callable[[], None],
) -> dict[int, float]:
    """Starts and stops each flow at its times. Returns the actual start of each flow by its index,
    s.

    ``read_sockets`` is called before flows are stopped. Returns when the run is over. Raises
    RunError if a sender exits early.
    """
    cpus = requirements.processors()
    waiting = sorted(flows, key=lambda flow: flow.start, reverse=True)
    running: dict[int, tuple[Flow, Process]] = {}
    began: dict[int, float] = {}
    try:
        while (now := time.monotonic() - epoch) < duration:
            while waiting and waiting[-1].start <= now:
                flow = waiting.pop()
                began[flow.index] = time.monotonic() - epoch
                running[flow.index] = (
                    flow,
                    _start(requirements.inside(namespace, command(flow, duration), cpus)),
                )
            for flow, process in running.values():
                if process.poll() is not None:
                    said = (process.stderr.read() if process.stderr else "").strip()
                    raise RunError(f"iperf3 from {flow.host.near}: exited early. {said}")
            over = [index for index, (flow, _) in running.items() if flow.stop <= now]
            if over:
                read_sockets()
                _end([running.pop(index)[1] for index in over])
            tell(now)
            time.sleep(STEP)
        read_sockets()
    finally:
        _end([process for _, process in running.values()])
    return began


def command(flow: Flow, duration: float) -> list[str]:
    """The command of a sender, which would run for longer than the scenario."""
    where = ["-c", flow.host.far, "-B", flow.host.near, "-p", str(flow.port)]
    return [
        *["iperf3", *where, "--cport", str(flow.port), "-C", flow.law],
        *["--dscp", str(flow.dscp), "-t", str(int(duration) + 60)],
    ]


def _start(command: Sequence[str]) -> Process:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(processes: Sequence[Process]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        if process.stderr:
            process.stderr.close()
