"""Process 1 of the PID namespace in which the command of a link runs; a program of its own.

    init.py FD SIGNALS COMMAND...

The kernel ends all processes of a PID namespace when its process 1 ends. This one ends when the
command does, and when the other end of the socket FD is closed, which the kernel does for a parent
that was killed. A byte that comes from there is the number of a signal for all processes of the
namespace. One byte is sent when the command has been started. SIGNALS, numbers with commas between
them, are given their default handling in the command.
"""

import os
import signal
import socket
import sys
from contextlib import suppress
from threading import Thread

NOT_STARTED = 127


class Init:
    """The command, and what is left of it."""

    def __init__(self, lifeline: socket.socket) -> None:
        self.lifeline = lifeline
        self.ending = False

    def obey(self) -> None:
        """Passes signals on, until nobody is there who could send any."""
        try:
            while told := self.lifeline.recv(1):
                self.ending = True
                with suppress(ProcessLookupError):
                    os.kill(-1, told[0])
        finally:
            # Without a parent, reading gives nothing or fails.
            os._exit(128 + signal.SIGKILL)

    def wait(self, command: int) -> int:
        """The exit code of the command. Whoever is told to end gets the time to do so; otherwise
        what the command has left in the background ends with it."""
        code = NOT_STARTED
        while True:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                return code
            if pid == command:
                code = os.waitstatus_to_exitcode(status)
                code = code if code >= 0 else 128 - code
                if not self.ending:
                    return code


def main(lifeline: str, defaults: str, *command: str) -> None:
    """See the head of this file."""
    link = socket.socket(fileno=int(lifeline))
    link.set_inheritable(False)
    init = Init(link)
    reset = [int(number) for number in defaults.split(",")]
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, setsigdef=reset)
        link.send(b"\0")
    except BrokenPipeError:
        os._exit(128 + signal.SIGKILL)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)
    Thread(target=init.obey, daemon=True).start()
    os._exit(init.wait(pid))


if __name__ == "__main__":
    main(*sys.argv[1:])
