"""Signals that end a live run: the setup is removed whichever signal arrives.

SIGTERM, SIGHUP and SIGQUIT raise an exception in the main thread, as SIGINT raises
KeyboardInterrupt, so that context managers clean up. Only the first signal raises. Later ones are
ignored, because they would interrupt the cleanup.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Terminated(SystemExit):
    """A signal requested the end of the run; the exit code is 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = number


class _Ending:
    """The state of signal handling in this process."""

    def __init__(self) -> None:
        self.depth = 0
        """How many sections that must not be interrupted are active."""
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
    """Context manager: the first of :data:`SIGNALS` raises Terminated, or KeyboardInterrupt for
    SIGINT. Signals that the process was started to ignore, as by ``nohup``, stay ignored. Main
    thread only."""
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
    """Context manager: signals that arrive inside raise at its end. For short sections that must be
    completed."""
    ending = _ending
    ending.depth += 1
    try:
        yield
    finally:
        ending.depth -= 1
        ending.raise_first()


def ignore_further_signals() -> None:
    """Ignores all signals from now on: only a short cleanup is left, which saves the
    measurements."""
    _ending.over = True


@contextmanager
def interrupts_left_to_command() -> Iterator[None]:
    """Context manager: Ctrl-C at the terminal ends the command, not this process."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield
        return
    # A handler, not SIG_IGN: the command would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
