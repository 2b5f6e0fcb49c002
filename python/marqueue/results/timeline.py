"""The times of a run: measuring windows, warm-up, and the end of each replication."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from marqueue.results import labels
from marqueue.results.provenance import Provenance
from marqueue.statistics.estimates import Floats

#: The index of a measuring window; None: the measured time.
Span = int | None


class Timeline:
    """The times of a run, from its scenario, plan and provenance."""

    scenario: dict[str, Any]
    plan: dict[str, Any]
    provenance: Provenance

    @property
    def replications(self) -> int:
        """The number of replications."""
        return self.provenance.replications

    @cached_property
    def edges(self) -> Floats:
        """The boundaries of the measuring windows, from 0 to the duration, s."""
        return np.array([0, *self.plan["boundaries"], self.plan["duration"]]) / 1e9

    @property
    def partial(self) -> bool:
        """Whether a limit ended the run; :attr:`Provenance.partial` has the details."""
        return self.provenance.partial is not None

    @cached_property
    def ends(self) -> Floats:
        """The end of each replication, s: the duration, except in a partial result."""
        if self.provenance.partial is None:
            return np.full(self.replications, self.edges[-1])
        return np.array(self.provenance.partial["ended"])

    @cached_property
    def begun(self) -> range:
        """The windows that some replication reached: all, except in a partial result."""
        return range(int(np.searchsorted(self.edges[:-1], self.ends.max())))

    @cached_property
    def measured(self) -> range:
        """The windows after the warm-up."""
        return self.begun[labels.warmup_windows(self.scenario) :]

    @property
    def warmup(self) -> float:
        """The length of the warm-up, s."""
        return float(self.edges[labels.warmup_windows(self.scenario)])

    def span(self, window: Span = None) -> tuple[float, float]:
        """The begin and end of a window, s; in a partial result those of the longest
        replication."""
        begin, end = (
            (self.warmup, self.edges[-1])
            if window is None
            else (float(self.edges[window]), self.edges[window + 1])
        )
        return begin, max(begin, float(min(end, self.ends.max())))

    def replications_in(self, window: Span = None) -> list[int]:
        """The replications, from 0, that reached a window: all, except in a partial result."""
        begin, _ = self.span(window)
        return [int(r) for r in np.flatnonzero(self.ends > begin)]
