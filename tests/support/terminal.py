"""A pseudo-terminal in which tests run interactive commands."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from contextlib import suppress

SIZE = 24, 100
"""Rows and columns."""


class Terminal:
    """A command that runs in a pseudo-terminal."""

    def __init__(self, *command: str) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm"})
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def read_until(self, pattern: str, seconds: float = 60.0) -> str:
        """What is shown up to something that it waits for."""
        deadline = time.monotonic() + seconds
        while not (match := re.search(pattern, self.shown, re.DOTALL)):
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 4096).decode(errors="replace")
        before, self.shown = self.shown[: match.end()], self.shown[match.end() :]
        return before

    def insist(self, key: str, pattern: str) -> None:
        """Presses a key until something is shown: at first nobody may be there to hear it."""
        for _ in range(60):
            self.type(key)
            with suppress(AssertionError):
                self.read_until(pattern, 1)
                return
        raise AssertionError(self.shown)

    def close(self) -> int:
        """Goes away; the exit code of the command."""
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def wait(self) -> int:
        """The exit code, once it has ended."""
        with suppress(OSError):  # The terminal is gone with the last who had it.
            self.read_until(r"\Z(?!)")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status)
