"""Computes what needs no simulation in a thread of its own, while simulations run: models of
papers, measures and figures of runs that are complete. Simulations leave Python's lock to it."""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Self


class Computing:
    """A thread that computes one thing after the other. An interrupt does not wait for it."""

    def __init__(self) -> None:
        self._asked: Queue[Callable[[], object] | None] = Queue()
        self._failed: list[BaseException] = []
        Thread(target=self._work, name="computing", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._asked.put(None)

    def compute(self, what: Callable[[], object]) -> None:
        """Computes something that keeps its result itself."""
        self._asked.put(what)

    def wait(self) -> None:
        """Waits until all is computed; raises what was raised first."""
        self._asked.join()
        for failed in self._failed:
            raise failed

    def _work(self) -> None:
        while (what := self._asked.get()) is not None:
            try:
                if not self._failed:
                    what()
            except BaseException as failed:
                self._failed.append(failed)
            finally:
                self._asked.task_done()
