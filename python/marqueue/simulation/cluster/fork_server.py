"""A process that imports the package once and forks others, which run points.

Otherwise each of them would import for a quarter of a second, beside the process that reads the
grid. The server is a new interpreter in which nothing runs but imports: what it forks has neither
the main module of the program that started it (so a script needs no guard) nor its locks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

# The other process decides what Ctrl-C means, also while this one imports.
_CODE = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "descriptor, sys.path[:] = json.loads(sys.argv[1]); "
    "from marqueue.light_start import start_light; start_light(); "
    "from marqueue.simulation.cluster import fork_server, processes; "
    "processes.prepare(); fork_server.serve(descriptor, processes.run_points)"
)

_FORK = b"fork"
"""Asks for a process; as a number it is beyond all IDs of processes."""
_NUMBER = struct.Struct("i")
"""The ID of a process, or its exit code."""


@dataclass(eq=False)
class Fork:
    """A process that the server forks as soon as it can."""

    server: ForkServer
    pid: int | None = None
    handle: int | None = None
    """A file descriptor that stands for it, and for no later process with the same ID. Both are
    None until the server has told them."""

    def begins(self) -> bool:
        """Waits until it is there; False if the server ended before."""
        self.server.learn(self)
        return self.pid is not None

    def end(self) -> str:
        """Ends the process. Returns how it ended, in words."""
        self.server.learn(self)
        if self.pid is None or self.handle is None:
            return "it was never there"
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        select.select([self.handle], [], [])
        os.close(self.handle)
        code = self.server.exit_code(self.pid)
        if code is None:
            return "how it ended is not known"
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"


@dataclass
class ForkServer:
    """The server, for the process that started it."""

    _popen: subprocess.Popen[bytes]
    _connection: socket.socket
    _unanswered: deque[Fork] = field(default_factory=deque)
    """Forks that it has not answered yet with a process, in their order."""

    @classmethod
    def start(cls) -> ForkServer:
        """A server, which begins to import."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-c", _CODE, json.dumps([theirs.fileno(), sys.path])],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        return cls(popen, ours)

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def fork(self, descriptor: int) -> Fork:
        """A process with the socket ``descriptor``, which it gets as soon as the server has
        imported. If the server ends before, the socket is closed."""
        fork = Fork(self)
        try:
            socket.send_fds(self._connection, [_FORK], [descriptor])
            self._unanswered.append(fork)
        except (BrokenPipeError, ConnectionResetError):
            self._kill()
        return fork

    def learn(self, fork: Fork) -> None:
        """Waits until the server has told what process a fork is, or has ended."""
        while fork in self._unanswered:
            self._learn_next()

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a process that has ended; None if the server has ended too."""
        if not self.runs:
            return None
        with suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(_NUMBER.pack(pid))
            while self._unanswered:
                self._learn_next()
            if message := self._connection.recv(_NUMBER.size):
                return int(_NUMBER.unpack(message)[0])
        return None

    def _learn_next(self) -> None:
        message, handles = b"", list[int]()
        with suppress(ConnectionResetError):
            message, handles, _, _ = socket.recv_fds(self._connection, _NUMBER.size, 1)
        if not message:
            self._unanswered.clear()
            self._kill()
            return
        told = self._unanswered.popleft()
        (told.pid,), (told.handle,) = _NUMBER.unpack(message), handles

    def _kill(self) -> None:
        self._popen.kill()
        self._popen.wait()

    def end_if_importing(self) -> None:
        """Ends a server that has not answered, because it still imports: what it was to fork never
        begins."""
        while self._unanswered and select.select([self._connection], [], [], 0)[0]:
            self._learn_next()
        if self._unanswered:
            self._kill()

    def end(self) -> None:
        """Ends the server."""
        while self._unanswered:
            self._learn_next()
        self._connection.close()
        # It has waited for forks that have ended, so what they took counts for this process.
        self._popen.wait()


def serve(descriptor: int, run: Callable[[int], NoReturn]) -> NoReturn:
    """Forks processes, each of which calls ``run`` with the descriptor of its socket, for the
    process at the other end of the socket ``descriptor``, until that ends."""
    connection = socket.socket(fileno=descriptor)
    with suppress(BrokenPipeError, ConnectionResetError):
        while True:
            message, theirs, _, _ = socket.recv_fds(connection, _NUMBER.size, 1)
            if not message:
                break
            if message == _FORK:
                _fork(connection, theirs[0], run)
            else:
                (pid,) = _NUMBER.unpack(message)
                _, status = os.waitpid(pid, 0)
                connection.send(_NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _fork(connection: socket.socket, descriptor: int, run: Callable[[int], NoReturn]) -> None:
    try:
        pid = os.fork()
    except OSError:
        # No more processes. The one at the other end finds that this one has ended, and says so.
        os._exit(1)
    if pid == 0:
        connection.close()
        run(descriptor)
    os.close(descriptor)
    handle = os.pidfd_open(pid)
    socket.send_fds(connection, [_NUMBER.pack(pid)], [handle])
    os.close(handle)
