"""Samples of the queues of a running link: watchers, and a recording of all samples."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

import marqueue._core as _core

EVERY = 0.1
"""Seconds between two samples, and between two calls of the watchers."""
LinkSamples = Sequence[dict[str, Any]]
"""Samples as returned by :meth:`marqueue._core.LiveLink.samples`."""
Watcher = Callable[[LinkSamples], None]
PROBES = {"rate": "bit/s", "delay_p50": "s", "delay_p99": "s"}
"""Sampled quantities besides the series of every queue, with their units."""


@contextmanager
def notify_watchers(link: _core.LiveLink, watchers: Sequence[Watcher]) -> Iterator[None]:
    """Context manager: calls the watchers with new samples in a thread, and once more at the
    end."""
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
    """A watcher that stores all samples in columns."""

    def __init__(self) -> None:
        self.links: dict[int, dict[str, array[float]]] = {}

    def __call__(self, looks: LinkSamples) -> None:
        """Stores new samples."""
        for look in looks:
            columns = self.links.setdefault(look["link"], {})
            series = look["series"]
            seen = {name: [look[name]] for name in PROBES}
            for name, values in {**series, **series["probes"], **seen}.items():
                if name not in ("probes", "probe_units"):
                    columns.setdefault(name, array("d")).append(values[0])

    def series(self, link: int, empty: dict[str, Any]) -> dict[str, Any]:
        """The series of a link in the form of the engine, with rate and delays among the probes.
        ``empty`` is the form without samples."""
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
