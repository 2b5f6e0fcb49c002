"""Ends a live run when a class in Python that manages one of its queues breaks off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import marqueue._core as _core
from marqueue.live.termination import Terminated
from marqueue.programs.registry import broken, is_program

LOOKS = 0.1
"""Seconds between looks at whether a program has broken off."""


@contextmanager
def broken_programs_end(link: _core.LiveLink, plan: Mapping[str, Any]) -> Iterator[None]:
    """Context manager for the run of a link until it is finished: when a program breaks off, the
    block is ended as by SIGTERM, where that raises (:mod:`marqueue.live.termination`).

    Raises BrokenProgram with the lines that led there.
    """
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(link, over), daemon=True)
    if any(is_program(each["queue"]["policy"]["name"]) for each in plan["links"] if each["queue"]):
        watch.start()
    try:
        with programs_are_told():
            try:
                yield
            except Terminated:
                if not link.is_broken:
                    raise
                link.finish()
    finally:
        over.set()


@contextmanager
def programs_are_told() -> Iterator[None]:
    """Context manager: BrokenProgram for a program that cannot begin or has broken off."""
    try:
        yield
    except _core.ProgramFailed as failed:
        raise broken(failed, "link") from None


def _watch(link: _core.LiveLink, over: threading.Event) -> None:
    while not over.wait(LOOKS):
        if link.is_broken:
            if callable(signal.getsignal(signal.SIGTERM)):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            return
