"""Samples of the queues of a link while it runs: who is told of them, and who keeps them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

import marqueue._core as _core

EVERY = 0.1
"""Seconds between two samples, and between two times that somebody is told of them."""
Looks = Sequence[dict[str, Any]]
"""Samples as :meth:`marqueue._core.LiveLink.samples` gives them."""
Watcher = Callable[[Looks], None]
PROBES = {"rate": "bit/s", "delay_p50": "s", "delay_p99": "s"}
"""What is sampled besides the series that every queue has, with its unit."""


@contextmanager
def told(link: _core.LiveLink, watchers: Sequence[Watcher]) -> Iterator[None]:
    """While it lasts, and once at its end, watchers are told in a thread of what is new."""
    over = Event()

    def tell() -> None:
        while not over.wait(EVERY):
            looks = link.samples()
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
    """Keeps all samples, as columns of numbers."""

    def __init__(self) -> None:
        self.links: dict[int, dict[str, array[float]]] = {}

    def __call__(self, looks: Looks) -> None:
        """Takes in new samples."""
        for look in looks:
            columns = self.links.setdefault(look["link"], {})
            series = look["series"]
            seen = {name: [look[name]] for name in PROBES}
            for name, values in {**series, **series["probes"], **seen}.items():
                if name not in ("probes", "probe_units"):
                    columns.setdefault(name, array("d")).append(values[0])

    def series(self, link: int, empty: dict[str, Any]) -> dict[str, Any]:
        """The series of a link as the engine gives them; rate and delays are among the probes.
        ``empty`` are those without samples."""
        kept = self.links.get(link, {})
        values = {name: np.array(column) for name, column in kept.items()}
        nothing = np.empty(0)
        probes = [*PROBES, *empty["probes"]]
        return {
            **{
                name: values.get(name, nothing).astype(column.dtype)
                for name, column in empty.items()
                if name not in ("probes", "probe_units")
            },
            "probes": {name: values.get(name, nothing) for name in probes},
            "probe_units": {**PROBES, **empty["probe_units"]},
        }
