"""Process 1 of the PID namespace in which the command of a link runs; a separate program.

    namespace_init.py FD SIGNALS COMMAND...

The kernel ends all processes of a PID namespace when its process 1 ends. This program ends when the
command does. It also ends when the other end of the socket FD is closed, which the kernel does if
the parent is killed. Each byte received on FD is the number of a signal that is passed on to all
processes of the namespace. One byte is sent on FD when the command has started. SIGNALS (numbers
separated by commas) are set to their default handling in the command.
"""

import os
import signal
import socket
import sys
from contextlib import suppress
from threading import Thread

NOT_STARTED = 127


class Init:
    """The command and the processes it left behind."""

    def __init__(self, lifeline: socket.socket) -> None:
        self.lifeline = lifeline
        self.ending = False

    def pass_signals_on(self) -> None:
        """Passes signals on until the parent closes the socket."""
        try:
            while received := self.lifeline.recv(1):
                self.ending = True
                with suppress(ProcessLookupError):
                    os.kill(-1, received[0])
        finally:
            # Reading returns nothing or fails when the parent is gone.
            os._exit(128 + signal.SIGKILL)

    def wait(self, command: int) -> int:
        """Waits for the command and returns its exit code. After a signal the other processes get
        time to end; otherwise background processes end with the command."""
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
    """Runs the command; see the module docstring."""
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
    Thread(target=init.pass_signals_on, daemon=True).start()
    os._exit(init.wait(pid))


if __name__ == "__main__":
    main(*sys.argv[1:])
