"""Runs a command so that it ends together with all its descendants.

The command runs in a PID namespace. When process 1 of the namespace (``namespace_init.py``) ends,
the kernel ends all others, in any session or process group. Process 1 and this process are
connected by a socket. The kernel closes the socket when this process dies, even by SIGKILL, and
process 1 then ends.

A cgroup could be killed as a whole, too, in the same time (5 ms for 17 processes, Linux 6.18). But
that needs a surviving process, and a writable cgroup hierarchy.
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
    ignore_further_signals,
    interrupts_left_to_command,
)

GRACE = 5.0
"""Seconds within which the command must end after a signal."""
RESTORED = (*SIGNALS, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that get their default handling in the command, as if a shell had started it. The
processes between this one and the command ignore the former; Python ignores the last two."""


@dataclass(frozen=True)
class Pipes:
    """Standard streams of the command, as :class:`subprocess.Popen` takes them; None: those of this
    process."""

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
    """Runs ``command`` in a network namespace. Returns its exit code when all its processes have
    ended. The command owns the terminal: Ctrl-C reaches it alone.

    Within :func:`marqueue.live.termination.signals_raise`, SIGTERM, SIGHUP and SIGQUIT are passed
    on to all processes of the command, which are killed if they do not end. The exit code is then
    128 + the signal's number. Raises RunError if the command could not be started.
    """
    ours, theirs = socket.socketpair()
    process: subprocess.Popen[bytes] | None = None
    with ours, interrupts_left_to_command():
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
            ignore_further_signals()
            started = _started(ours)
            ours.close()
            if process:
                process.wait()
    if code == 0 or started or code > 128:
        return code
    raise RunError(f"{command[0]}: could not be started (exit code {code})")


def _end(process: subprocess.Popen[bytes] | None, ours: socket.socket, ended: Terminated) -> int:
    """Passes a signal on. Returns 128 + its number as the exit code."""
    try:
        ours.send(bytes([ended.signal]))
        if process:
            process.wait(GRACE)
    except (OSError, subprocess.TimeoutExpired):
        # The process has already ended, or is about to be killed.
        pass
    return 128 + ended.signal


def _started(ours: socket.socket) -> bool:
    ours.setblocking(False)
    try:
        return bool(ours.recv(1))
    except OSError:
        return False


def _line(namespace: str, lifeline: int, command: Sequence[str]) -> list[str]:
    """The command line: a PID namespace within the network namespace. /proc shows the PID
    namespace, and mounts made inside stay inside."""
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
