"""A command and all its descendants, which end together.

The command runs in a PID namespace: when its process 1 (``namespace_init.py``) ends, the kernel
ends all the others, whatever sessions and groups they are in. Process 1 holds one end of a socket,
this process the other. The kernel closes it when this process dies, be it by SIGKILL, and process 1
ends.

A cgroup can be killed as a whole too, in the same time (5 ms for 17 processes, Linux 6.18), but
somebody must be alive to do it, and its hierarchy must be writable.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marqueue.errors import RunError
from marqueue.live import namespace_init
from marqueue.live.termination import (
    SIGNALS,
    Terminated,
    deferred,
    ignore_the_rest,
    interrupt_is_for_the_command,
)

GRACE = 5.0
"""Seconds that the command has to end, once a signal was passed on to it."""
RESTORED = (*SIGNALS, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that the command handles as if a shell had started it. The processes between this one and
the command ignore the former; Python ignores the last two."""


@dataclass(frozen=True)
class Pipes:
    """Where a command reads and writes, as :class:`subprocess.Popen` takes it; None: where this
    process does."""

    stdin: int | None = None
    stdout: int | None = None
    stderr: int | None = None


INHERITED = Pipes()


def run_tree(
    namespace: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    pipes: Pipes = INHERITED,
) -> int:
    """Runs ``command`` in a network namespace, and gives its exit code once no process of it is
    left. It has the terminal: Ctrl-C there is for it alone.

    SIGTERM, SIGHUP and SIGQUIT, where :func:`marqueue.live.termination.signals_raise` is in force,
    are passed on to all its processes, which are killed if they do not end; the exit code is then
    128 and the signal's number. Raises RunError if it could not be started.
    """
    ours, theirs = socket.socketpair()
    process: subprocess.Popen[bytes] | None = None
    with ours, interrupt_is_for_the_command():
        line = _line(namespace, theirs.fileno(), command)
        try:
            with deferred(), theirs:
                process = subprocess.Popen(
                    line,
                    env=dict(environment),
                    pass_fds=[theirs.fileno()],
                    stdin=pipes.stdin,
                    stdout=pipes.stdout,
                    stderr=pipes.stderr,
                )
            code = process.wait()
            code = code if code >= 0 else 128 - code
        except Terminated as ended:
            code = _end(process, ours, ended)
        finally:
            ignore_the_rest()
            started = _started(ours)
            ours.close()
            if process:
                process.wait()
    if code == 0 or started or code > 128:
        return code
    raise RunError(f"{command[0]}: could not be started (exit code {code})")


def _end(process: subprocess.Popen[bytes] | None, ours: socket.socket, ended: Terminated) -> int:
    """Passes a signal on, and gives the exit code that says so."""
    try:
        ours.send(bytes([ended.signal]))
        if process:
            process.wait(GRACE)
    except (OSError, subprocess.TimeoutExpired):
        # It has ended meanwhile, or will be ended.
        pass
    return 128 + ended.signal


def _started(ours: socket.socket) -> bool:
    ours.setblocking(False)
    try:
        return bool(ours.recv(1))
    except OSError:
        return False


def _line(namespace: str, lifeline: int, command: Sequence[str]) -> list[str]:
    """The command line. Only network and processes are others than here: /proc shows the latter,
    and what is mounted in the namespace stays there."""
    ignored = {number for number in SIGNALS if signal.getsignal(number) == signal.SIG_IGN}
    restored = ",".join(str(int(number)) for number in RESTORED if number not in ignored)
    aside = ",".join(number.name.removeprefix("SIG") for number in SIGNALS)
    return [
        *["env", f"--ignore-signal={aside}"],
        *["nsenter", f"--net=/run/netns/{namespace}", "--"],
        *["unshare", "--pid", "--fork", "--kill-child=KILL"],
        *["--mount-proc", "--propagation", "slave", "--"],
        *[sys.executable, "-I", "-S", str(Path(namespace_init.__file__)), str(lifeline), restored],
        *command,
    ]
