"""Real TCP flows: a sender and a receiver of iperf3 for each, all of them gone at the end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from marqueue.errors import RunError
from marqueue.live import requirements
from marqueue.live.flows import Flow

PATIENCE = 20.0
"""Seconds for all receivers to be ready."""
STEP = 0.02
"""Seconds between two looks at the clock."""
Process = subprocess.Popen[str]


@contextmanager
def receivers(namespace: str, flows: Sequence[Flow]) -> Iterator[None]:
    """A receiver for each flow. Raises RunError if they are not ready in time."""
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


def send(
    namespace: str,
    flows: Sequence[Flow],
    epoch: float,
    duration: float,
    tell: Callable[[float], None],
    look: Callable[[], None],
) -> dict[int, float]:
    """Starts each flow at its time and stops it at its time; by index, when each was started, s.

    Before flows are stopped it takes a ``look`` at them. Returns when the run is over. Raises
    RunError if a sender ends early.
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
                    raise RunError(f"iperf3 from {flow.host.near}: ended early. {said}")
            over = [index for index, (flow, _) in running.items() if flow.stop <= now]
            if over:
                look()
                _end([running.pop(index)[1] for index in over])
            tell(now)
            time.sleep(STEP)
        look()
    finally:
        _end([process for _, process in running.values()])
    return began


def command(flow: Flow, duration: float) -> list[str]:
    """The sender of a flow, which would go on for longer than the run."""
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
