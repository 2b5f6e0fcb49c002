"""Signals that end a run with real packets: what was set up is taken down whatever ends it.

SIGTERM, SIGHUP and SIGQUIT become an exception in the main thread, as SIGINT is KeyboardInterrupt,
so that context managers clean up. Only the first signal does so: later ones would interrupt the
cleaning up, and are ignored.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Terminated(SystemExit):
    """A signal asked for the end; the exit code is 128 and its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = number


class _Ending:
    """What is known of the signals of this process."""

    def __init__(self) -> None:
        self.depth = 0
        """How many parts of the program that must not be interrupted are running."""
        self.first: BaseException | None = None
        self.raised = False
        self.over = False

    def handle(self, number: int, _: FrameType | None) -> None:
        if self.first is None and not self.over:
            self.first = KeyboardInterrupt() if number == signal.SIGINT else Terminated(number)
            self.raise_first()

    def raise_first(self) -> None:
        if self.first is not None and not (self.depth or self.raised or self.over):
            self.raised = True
            raise self.first


_ending = _Ending()


@contextmanager
def signals_raise() -> Iterator[None]:
    """While it lasts, the first of :data:`SIGNALS` raises; Terminated but for SIGINT, which raises
    KeyboardInterrupt. Those that the process was told to ignore, as ``nohup`` does, stay ignored.
    Only for the main thread.
    """
    global _ending
    before = {number: signal.getsignal(number) for number in SIGNALS}
    _ending = _Ending()
    taken = [number for number, handler in before.items() if handler != signal.SIG_IGN]
    try:
        for number in taken:
            signal.signal(number, _ending.handle)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
        _ending = _Ending()


@contextmanager
def deferred() -> Iterator[None]:
    """A part of the program that is short and must be done as a whole: a signal that comes
    meanwhile raises at its end."""
    ending = _ending
    ending.depth += 1
    try:
        yield
    finally:
        ending.depth -= 1
        ending.raise_first()


def ignore_the_rest() -> None:
    """From now on signals are ignored: what is left to do is short, and keeps what was measured."""
    _ending.over = True


@contextmanager
def interrupt_is_for_the_command() -> Iterator[None]:
    """While it lasts, Ctrl-C at the terminal is for those who share it, not for this process."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield
        return
    # A handler, because what is ignored here would be ignored by the command too.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
