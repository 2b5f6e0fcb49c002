"""Points in processes of this machine, one at a time in each.

A process gets its next point while it runs one, so that it need not wait for this process, which
reads and flushes results.

Threads share one interpreter, which prepares, summarizes and writes one point at a time. With a
short point that takes longer than the engine, so more threads gain little.

Each process is a new interpreter, which gets neither the main module of the program that started
it (so a script needs no guard) nor its locks. It ends when that program ends, however that
happens.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread

from marqueue.simulation.cluster.cluster import Died, Ending
from marqueue.simulation.cluster.point_job import PointJob, Refused, run_point

_CODE = (
    "import json, sys; descriptor, sys.path[:] = json.loads(sys.argv[1]); "
    "from marqueue.light_start import start_light; start_light(); "
    "from marqueue.simulation.cluster.processes import serve; serve(descriptor)"
)


@dataclass(frozen=True)
class _Bug:
    """An error in a process that is nobody's input."""

    traceback: str


@dataclass
class _Process:
    """A process, and the points that it has: the first runs, others wait for it."""

    popen: subprocess.Popen[bytes]
    connection: Connection
    jobs: deque[tuple[int, PointJob]] = field(default_factory=deque)
    """By the numbers of their points."""

    @classmethod
    def start(cls) -> _Process:
        """A process that waits for a point."""
        ours, theirs = socket.socketpair()
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-c", _CODE, json.dumps([theirs.fileno(), sys.path])],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        return cls(popen, Connection(ours.detach()))

    def end(self) -> str:
        """Ends the process. Returns how it ended, in words."""
        self.connection.close()
        self.popen.kill()
        code = self.popen.wait()
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"


@dataclass
class Processes:
    """Up to ``most`` processes."""

    most: int
    _waiting: deque[tuple[int, PointJob]] = field(default_factory=deque)
    _begun: list[_Process] = field(default_factory=list)

    def start(self) -> None:
        """Starts the processes before there are jobs for them, and ends those beyond
        :attr:`most`."""
        while len(self._begun) > self.most:
            self._begun.pop().end()
        while len(self._begun) < self.most:
            self._begun.append(_Process.start())

    def submit(self, jobs: Mapping[int, PointJob]) -> None:
        """Starts jobs as processes become free."""
        self._waiting.extend(jobs.items())
        busy = sum(bool(each.jobs) for each in self._begun)
        while len(self._begun) < min(self.most, busy + len(self._waiting)):
            self._begun.append(_Process.start())
        for each in self._begun:
            if not each.jobs:
                self._give(each)
        for each in self._begun:
            # The last points go to whoever is free first.
            if len(each.jobs) == 1 and len(self._waiting) > self.most:
                self._give(each)

    def wait(self, seconds: float) -> None:
        """Waits until a job may have ended, at most for so long."""
        wait([each.connection for each in self._begun], seconds)

    def ended(self) -> Mapping[int, Ending]:
        """The jobs that have ended since the last call. Raises RuntimeError for a bug in one."""
        endings: dict[int, Ending] = {}
        for each in [each for each in self._begun if each.connection.poll()]:
            try:
                answer: Refused | _Bug | None = each.connection.recv()
            except (EOFError, ConnectionResetError):
                self._begun.remove(each)
                how = each.end()
                if each.jobs:
                    number, _ = each.jobs.popleft()
                    endings[number] = Died(how)
                # Those behind it had not begun.
                self._waiting.extendleft(reversed(each.jobs))
                continue
            number, _ = each.jobs.popleft()
            if isinstance(answer, _Bug):
                raise RuntimeError(f"point {number}:\n{answer.traceback}")
            endings[number] = answer
        self.submit({})
        return endings

    def cancel(self) -> None:
        """Ends all processes."""
        self._waiting.clear()
        while self._begun:
            self._begun.pop().end()

    def _give(self, process: _Process) -> None:
        """Gives a process the next point."""
        if self._waiting:
            process.jobs.append(self._waiting.popleft())
            # A process that has ended is found by its missing answer.
            with suppress(BrokenPipeError, ConnectionResetError):
                process.connection.send(process.jobs[-1][1])


def serve(descriptor: int) -> None:
    """Runs points for the process at the other end of a socket, until that ends."""
    # The other process decides what Ctrl-C means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    jobs = SimpleQueue[PointJob]()
    Thread(target=_receive, args=[connection, jobs], daemon=True).start()
    while True:
        job = jobs.get()
        try:
            answer: Refused | _Bug | None = run_point(job)
        except Exception:
            answer = _Bug(traceback.format_exc())
        connection.send(answer)


def _receive(connection: Connection, jobs: SimpleQueue[PointJob]) -> None:
    """Receives points. Ends this process, in the middle of a point too, when the other has
    ended."""
    with suppress(EOFError, OSError):
        while True:
            jobs.put(connection.recv())
    os._exit(1)
