"""TCP flows with an end or pauses, and UDP packets that nothing controls, sent by the programs of
``endpoint.py``.

iperf3 is not used for them: it opens a control connection before each flow, and does not report
when the last byte was acknowledged.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marqueue.errors import RunError
from marqueue.live import endpoint, requirements
from marqueue.live.flows import LONGER, UDP, Flow
from marqueue.statistics.estimates import Floats

TO = 19_999
"""The port of all receivers."""
PATIENCE = 60.0
"""Seconds after the run within which a program must report."""
Process = subprocess.Popen[str]


@dataclass(frozen=True)
class FlowRecord:
    """The record of one flow: start and end as seen by the sender, s (NaN: not ended), segments
    sent and retransmitted, and bytes received at each edge of the measuring windows."""

    start: float
    end: float
    sent: int
    retransmits: int
    received: Floats
    timeouts: int = -1
    """Timeouts; -1: not known."""
    ecn_cuts: int = -1
    """Reductions of the rate for marks; -1: not known."""


class Programs:
    """The running endpoint programs, at most one for each role."""

    def __init__(self, processes: dict[str, Process], flows: Sequence[Flow], edges: Floats) -> None:
        self.processes, self.flows, self.edges = processes, flows, edges

    def begin(self, epoch: float) -> None:
        """Tells every program the start of the run, on the monotonic clock."""
        for role, process in self.processes.items():
            _write_line(role, process, epoch)

    def end(self) -> tuple[dict[int, FlowRecord], float | None]:
        """Waits for the reports after the run. Returns the record of each flow that started, by its
        index, and the 99th percentile of the lateness of UDP packets, s (None without any)."""
        reports = {role: _read_report(role, process) for role, process in self.processes.items()}
        packets = reports.get("packets", {"flows": {}, "late": None})
        sent, received = (
            reports.get("transfers", {}) | packets["flows"],
            reports.get("receive", {}),
        )
        nothing = [0] * len(self.edges)
        seen = {}
        for flow in self.flows:
            port = str(flow.port)
            if port in sent:
                start, end, segments, retransmits = sent[port]
                counts = np.array(received.get(port, nothing), dtype=float)
                end = np.nan if end is None else end
                seen[flow.index] = FlowRecord(start, end, segments, retransmits, counts)
        return seen, packets["late"]


@contextmanager
def endpoints(near: str, far: str, flows: Sequence[Flow], edges: Floats) -> Iterator[Programs]:
    """Starts the programs that send and receive ``flows``. Raises RunError if one does not
    start."""
    tasks: dict[str, tuple[str, dict[str, Any]]] = {}
    ending = [_transfer(flow) for flow in flows if flow.law]
    steady = [_packets(flow) for flow in flows if not flow.law]
    hosts = sorted({(flow.host.far, flow.law) for flow in flows})
    if ending:
        tasks["transfers"] = near, {"flows": ending, "duration": float(edges[-1])}
    if steady:
        tasks["packets"] = near, {"flows": steady}
    if flows:
        tasks["receive"] = far, {"hosts": hosts, "to": TO, "edges": edges.tolist()}
    with ExitStack() as stack:
        processes = {}
        for role, (namespace, task) in tasks.items():
            command = [sys.executable, "-I", str(Path(endpoint.__file__)), role]
            processes[role] = _start(
                requirements.inside(namespace, command, requirements.processors())
            )
            stack.callback(_end, processes[role])
            _write_line(role, processes[role], task)
        for role, process in processes.items():
            assert process.stdout
            if process.stdout.readline() != "ready\n":
                raise _failure(role, process)
        yield Programs(processes, flows, edges)


def _common(flow: Flow) -> dict[str, Any]:
    where = {"near": flow.host.near, "far": flow.host.far, "port": flow.port, "to": TO}
    when = {"start": flow.start, "stop": flow.stop, "seed": flow.seed}
    return {**where, **when, "dscp": flow.dscp, "ecn": flow.ecn}


def _transfer(flow: Flow) -> dict[str, Any]:
    payload = flow.host.payload
    # json writes an unlimited size as Infinity, and reads it.
    own: dict[str, Any] = {"law": flow.law, "bytes": flow.size * payload or math.inf}
    if flow.write is not None:
        first = flow.write.get("first")
        own["write"] = {
            "bytes": flow.write["packets"] * payload,
            "every": flow.write["every"] / 1e9,
            "random": flow.write["gaps"] == "exponential",
            "first": first and {"bytes": first["packets"] * payload, "lasts": first["lasts"] / 1e9},
        }
    return {**_common(flow), **own}


def _packets(flow: Flow) -> dict[str, Any]:
    headers = UDP + LONGER * flow.host.ipv6
    sizes = {"wire": flow.host.payload + headers, "headers": headers, "sizes": flow.sizes}
    return {**_common(flow), **sizes, "gap": flow.gap, "random": flow.kind == "packets"}


def _start(command: Sequence[str]) -> Process:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _write_line(role: str, process: Process, what: Any) -> None:
    assert process.stdin
    try:
        print(json.dumps(what), file=process.stdin, flush=True)
    except OSError:
        raise _failure(role, process) from None


def _read_report(role: str, process: Process) -> Any:
    try:
        said, complained = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise RunError(f"{role}: no report within {PATIENCE:g} s after the run") from None
    if process.returncode != 0:
        raise RunError(f"{role}: {complained.strip()}")
    return json.loads(said)


def _failure(role: str, process: Process) -> RunError:
    process.kill()
    return RunError(f"{role}: {process.communicate()[1].strip()}")


def _end(process: Process) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
