"""Simulation of the chain: replications, each with its own random streams, and their figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marqueue.errors import ModelError, show
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain.model import Model
from marqueue.theory.marking_chain.spectrum import Spectrum, spectrum

Floats = npt.NDArray[np.float64]

WARM_UP, LENGTH, REPLICATIONS = 2000, 10_000, 5
"""Default length and warm-up, T, and number of replications."""

CHUNK = 2000
"""Steps between two checks for Ctrl-C and updates of the progress bar."""

LEVELS = (0.5, 0.9, 0.99, 0.999)
"""Quantiles of the queue."""


@dataclass(frozen=True)
class Series:
    """One replication after its warm-up, one value per slot."""

    loads: Floats
    """rho; 1 or more in overload."""
    windows: Floats
    """The sum of all windows, packets."""
    occupancy: Floats
    """The mean share of each class's flows at window w, at w - 1; shape (classes, windows)."""


@dataclass(frozen=True)
class ChainResult:
    """All replications of a model."""

    model: Model
    series: tuple[Series, ...]

    def _each(self, figure: Callable[[Series], float]) -> Estimate:
        return Estimate.of([figure(each) for each in self.series])

    @property
    def load(self) -> Estimate:
        """E[rho], (13) of the paper: offered load."""
        return self._each(lambda s: float(s.loads.mean()))

    @property
    def utilization(self) -> Estimate:
        """E[min(rho, 1)]: carried load."""
        return self._each(lambda s: float(np.minimum(s.loads, 1.0).mean()))

    @property
    def overload(self) -> Estimate:
        """Share of time with rho >= 1, when every flow is marked."""
        return self._each(lambda s: float((s.loads >= 1.0).mean()))

    @property
    def load_deviation(self) -> Estimate:
        """Standard deviation of rho."""
        return self._each(lambda s: float(s.loads.std()))

    @property
    def h(self) -> Estimate:
        """Var(sum W_i) / sum Var(W_i): 1 for independent flows, N for synchronized flows."""
        return self._each(self._synchrony)

    def _synchrony(self, series: Series) -> float:
        size = np.arange(1, series.occupancy.shape[1] + 1)
        mean = series.occupancy @ size
        variance = series.occupancy @ size**2 - mean**2
        alone = float(np.dot(self.model.counts, variance))
        return float(series.windows.var()) / alone if alone > 0 else np.nan

    @property
    def mean_window(self) -> Estimate:
        """E[W], packets."""
        return self._each(lambda s: float(s.windows.mean()) / self.model.flows)

    @property
    def buffer(self) -> int:
        """q N^b, packets."""
        return self.model.at.buffer

    @property
    def loss_bound(self) -> Estimate:
        """Upper bound of the loss ratio, from the tail of the unlimited queue beyond the buffer:
        E[rho; Q >= B] / E[rho], with all packets of overloaded slots lost."""

        def bound(series: Series) -> float:
            full = self.model.at.full(series.loads, self.buffer)
            return float(np.dot(full, series.loads) / series.loads.sum())

        return self._each(bound)

    @property
    def loss(self) -> Estimate:
        """Loss ratio if the queue of B places is in equilibrium within each slot."""

        def lost(series: Series) -> float:
            each = self.model.at.loss(series.loads, self.buffer)
            return float(np.dot(each, series.loads) / series.loads.sum())

        return self._each(lost)

    @cached_property
    def loads(self) -> Floats:
        """The loads of all replications, concatenated."""
        return np.concatenate([each.loads for each in self.series])

    @cached_property
    def queue(self) -> tuple[Floats, Floats]:
        """Queue lengths n and P(Q >= n) over time, with Q unlimited, and infinite in overload. All
        n up to 64, then steps of 5 %."""
        scale = max(1.0, float(self.model.flows) ** self.model.a)
        most = max(1000.0, 1000.0 * scale)
        far = np.unique(np.round(64 * 1.05 ** np.arange(np.log(most / 64) / np.log(1.05))))
        lengths = np.concatenate([np.arange(64.0), far])
        return lengths, self.model.at.tail(self.loads, lengths)

    @cached_property
    def queue_quantiles(self) -> dict[float, int | None]:
        """The smallest n with P(Q <= n) at least each level, packets. None if overload takes more
        of the time, or n is beyond the computed range."""
        lengths, tail = self.queue
        found: dict[float, int | None] = {}
        for level in LEVELS:
            # P(Q <= n) >= level where P(Q >= n + 1) <= 1 - level.
            below = np.nonzero(tail <= 1 - level)[0]
            if not below.size:
                found[level] = None
                continue
            k = int(below[0])
            between = np.arange(lengths[max(k - 1, 0)], lengths[k] + 1)
            fine = self.model.at.tail(self.loads, between)
            found[level] = max(0, int(between[np.nonzero(fine <= 1 - level)[0][0]]) - 1)
        return found

    @cached_property
    def windows(self) -> Floats:
        """The mean share of each class's flows at window w, at w - 1."""
        return np.asarray(np.mean([each.occupancy for each in self.series], axis=0))

    @cached_property
    def spectrum(self) -> Spectrum:
        """The spectrum of the load."""
        return spectrum([each.loads for each in self.series], self.model.steps_per_unit)


def simulate(
    model: Model,
    length: int = LENGTH,
    warm_up: int = WARM_UP,
    replications: int = REPLICATIONS,
    seed: int = 1,
    progress: Callable[[float, float], None] | None = None,
) -> ChainResult:
    """Simulates the chain for ``length`` T after ``warm_up`` T, ``replications`` times.

    Replication i draws from the streams ``chain/i/class/j``. Raises :class:`ModelError` for lengths
    or replications that are too small.
    """
    for name, value, least in (
        ("length", length, 10),
        ("warm-up", warm_up, 0),
        ("replications", replications, 1),
        ("seed", seed, 0),
    ):
        if value < least:
            raise ModelError(f"{name}: got {show(value)}, expected at least {least}")
    slots = model.steps_per_unit
    before, steps = warm_up * slots, length * slots
    total = replications * (before + steps)
    done = 0
    series = []
    for i in range(replications):
        chain = model.start(seed, f"chain/{i}")
        parts = []
        for wanted, keep in ((before, False), (steps, True)):
            left = wanted
            while left > 0:
                part = chain.run(min(CHUNK, left))
                left -= min(CHUNK, left)
                done += len(part[0])
                if keep:
                    parts.append(part)
                if progress is not None:
                    progress(done, total)
        loads, windows, counts = zip(*parts, strict=True)
        share = np.sum(counts, axis=0) / (steps * np.array(model.counts)[:, None])
        series.append(Series(np.concatenate(loads), np.concatenate(windows), share))
    return ChainResult(model, tuple(series))
