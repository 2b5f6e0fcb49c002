"""Points in processes of this machine, one at a time in each.

A process gets its next point while it runs one, so that it need not wait for this process, which
reads and flushes results.

Threads share one interpreter, which prepares, summarizes and writes one point at a time. With a
short point that takes longer than the engine, so more threads gain little.

Each process is forked by :mod:`marqueue.simulation.cluster.fork_server`. It ends when the program
that began it ends, however that happens.
"""

from __future__ import annotations

import os
import socket
import traceback
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from typing import NoReturn

from marqueue.simulation.checkpoints import program_identity
from marqueue.simulation.cluster.cluster import ATTEMPTS, Died, Ending
from marqueue.simulation.cluster.fork_server import Fork, ForkServer
from marqueue.simulation.cluster.point_job import PointJob, Refused, run_point


@dataclass(frozen=True)
class _Bug:
    """An error in a process that is nobody's input."""

    traceback: str


@dataclass
class _Process:
    """A process, and the points that it has: the first runs, others wait for it."""

    fork: Fork
    connection: Connection
    jobs: deque[tuple[int, PointJob]] = field(default_factory=deque)
    """By the numbers of their points."""

    @classmethod
    def start(cls, server: ForkServer) -> _Process:
        """A process that waits for a point."""
        ours, theirs = socket.socketpair()
        with theirs:
            fork = server.fork(theirs.fileno())
        return cls(fork, Connection(ours.detach()))

    def end(self) -> str:
        """Ends the process. Returns how it ended, in words."""
        self.connection.close()
        return self.fork.end()


@dataclass
class Processes:
    """Up to ``most`` processes."""

    most: int
    _waiting: deque[tuple[int, PointJob]] = field(default_factory=deque)
    _begun: list[_Process] = field(default_factory=list)
    _server: ForkServer | None = None

    def start(self) -> None:
        """Starts the processes before there are jobs for them, and ends those beyond
        :attr:`most`."""
        if not self.most:
            self.cancel()
        while len(self._begun) > self.most:
            self._begun.pop().end()
        while len(self._begun) < self.most:
            self._begun.append(self._begin())

    def submit(self, jobs: Mapping[int, PointJob]) -> None:
        """Starts jobs as processes become free."""
        self._waiting.extend(jobs.items())
        busy = sum(bool(each.jobs) for each in self._begun)
        while len(self._begun) < min(self.most, busy + len(self._waiting)):
            self._begun.append(self._begin_surely())
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
        if self._server is not None:
            self._server.end_if_importing()
        while self._begun:
            self._begun.pop().end()
        if self._server is not None:
            self._server.end()
            self._server = None

    def _begin(self) -> _Process:
        """A process that the server forks when it has imported."""
        if self._server is not None and not self._server.runs:
            self._server.end()
            self._server = None
        self._server = self._server or ForkServer.start()
        return _Process.start(self._server)

    def _begin_surely(self) -> _Process:
        """A process that is there, unless each of several servers has died."""
        for _ in range(ATTEMPTS - 1):
            process = self._begin()
            if process.fork.begins():
                return process
            # The server was about to die.
            process.end()
        return self._begin()

    def _give(self, process: _Process) -> None:
        """Gives a process the next point."""
        if self._waiting:
            process.jobs.append(self._waiting.popleft())
            # A process that has ended is found by its missing answer.
            with suppress(BrokenPipeError, ConnectionResetError):
                process.connection.send(process.jobs[-1][1])


def prepare() -> None:
    """Does what the first point of each process would do: called before any is forked."""
    program_identity()


def run_points(descriptor: int) -> NoReturn:
    """Runs points for the process at the other end of a socket, until that ends."""
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
