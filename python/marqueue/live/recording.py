"""Samples of the queues of a link while it runs: who is told of them, and who keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

from marqueue import _core

EVERY = 0.1
"""Seconds between two samples, and between two times that somebody is told of them."""
Looks = Sequence[dict[str, Any]]
"""Samples as :meth:`marqueue._core.LiveLink.looks` gives them."""
Watcher = Callable[[Looks], None]
PROBES = {"rate": "bit/s", "delay_p50": "s", "delay_p99": "s"}
"""What is sampled besides the series that every queue has, with its unit."""


@contextmanager
def told(link: _core.LiveLink, watchers: Sequence[Watcher]) -> Iterator[None]:
    """While it lasts, and once at its end, watchers are told in a thread of what is new."""
    over = Event()

    def tell() -> None:
        while not over.wait(EVERY):
            looks = link.looks()
            for watcher in watchers:
                watcher(looks)

    thread = Thread(target=tell, name="watchers", daemon=True)
    if watchers:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if watchers:
            thread.join()


class Recording:
    """Keeps all samples."""

    def __init__(self) -> None:
        self.looks: dict[int, list[dict[str, Any]]] = {}

    def __call__(self, looks: Looks) -> None:
        """Takes in new samples."""
        for look in looks:
            self.looks.setdefault(look["link"], []).append(look)

    def series(self, link: int, empty: dict[str, Any]) -> dict[str, Any]:
        """The series of a link as the engine gives them; rate and delays are among the probes.
        ``empty`` are those without samples."""
        looks = self.looks.get(link, [])
        rows = [empty, *(look["series"] for look in looks)]
        columns = [name for name in empty if name not in ("probes", "probe_units")]
        seen = {name: np.array([look[name] for look in looks], dtype=float) for name in PROBES}
        inside = {
            name: np.concatenate([row["probes"][name] for row in rows]) for name in empty["probes"]
        }
        return {
            **{name: np.concatenate([row[name] for row in rows]) for name in columns},
            "probes": {**seen, **inside},
            "probe_units": {**PROBES, **empty["probe_units"]},
        }
