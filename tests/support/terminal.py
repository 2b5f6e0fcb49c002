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
from pathlib import Path

SIZE = 24, 100
"""Rows and columns."""

PATIENCE = 120.0
"""Seconds after which nothing more is to be expected of any machine."""


class Terminal:
    """A command that runs in a pseudo-terminal."""

    def __init__(self, *command: str) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # Here and not in the parent: the command may ask for it first.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm"})
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def read_until(self, pattern: str, seconds: float = PATIENCE) -> str:
        """What is shown up to something that it waits for."""
        deadline = time.monotonic() + seconds
        while not (match := re.search(pattern, self.shown, re.DOTALL)):
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 4096).decode(errors="replace")
        before, self.shown = self.shown[: match.end()], self.shown[match.end() :]
        return before

    def wait_for(self, program: str) -> None:
        """Waits until a program has the terminal and sleeps: Ctrl-C and Ctrl-Z are then for it."""
        deadline = time.monotonic() + PATIENCE
        while self._foreground() != (program, "S"):
            assert time.monotonic() < deadline, (self._foreground(), self.shown)
            time.sleep(0.01)

    def _foreground(self) -> tuple[str, str] | None:
        """Name and state (proc_pid_stat(5)) of the leader of the foreground process group."""
        with suppress(OSError):
            said = Path(f"/proc/{os.tcgetpgrp(self.master)}/stat").read_text()
            name, state = said.partition("(")[2].rsplit(")", 1)
            return name, state.split()[0]
        return None

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
