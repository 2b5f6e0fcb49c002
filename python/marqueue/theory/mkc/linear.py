"""Linear systems with delays around a fixed point, and their exact stability.

    y(n) = sum over lags d of A_d y(n - d)

decays if and only if every root of det(I - sum A_d z^-d) lies within the unit circle. The roots are
the eigenvalues of the companion matrix, whose size is the size of y times the longest lag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvals
from scipy.optimize import brentq
from scipy.sparse import coo_array, csr_array

from marqueue.errors import ModelError
from marqueue.theory.mkc.equilibrium import FixedPoint
from marqueue.theory.mkc.laws import Kelly, Mkc
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Static, Virtual

#: A spectral radius this close to 1 counts as 1: the accuracy of an eigenvalue.
MARGIN = 1e-9
#: Number of points searched for the first crossing, before it is refined.
SCAN = 100


@dataclass(frozen=True)
class DelaySystem:
    """A linear system with delays: matrices by lag; all lags are at least 1."""

    lags: Mapping[int, csr_array]

    @property
    def size(self) -> int:
        """The length of y."""
        return int(next(iter(self.lags.values())).shape[0])

    def undelayed(self) -> Floats:
        """``(size, size)``: the system with all lags 1."""
        return np.asarray(sum(matrix.toarray() for matrix in self.lags.values()))

    def companion(self) -> csr_array:
        """``(size L, size L)``, L the longest lag: the equivalent system without delays."""
        n, longest = self.size, max(self.lags)
        rows: list[npt.NDArray[Any]] = []
        columns: list[npt.NDArray[Any]] = []
        values: list[Floats] = []
        for lag, matrix in self.lags.items():
            entries = matrix.tocoo()
            rows.append(entries.row)
            columns.append(entries.col + (lag - 1) * n)
            values.append(entries.data)
        kept = np.arange(n * (longest - 1))
        rows.append(kept + n)
        columns.append(kept)
        values.append(np.ones(len(kept)))
        whole = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_array(coo_array(whole, shape=(n * longest, n * longest)))

    def radius(self) -> float:
        """The spectral radius: the factor by which deviations shrink or grow in a step."""
        return float(np.abs(eigvals(self.companion().toarray())).max())


def delayed_system(matrix: npt.ArrayLike, to: npt.ArrayLike, back: npt.ArrayLike) -> DelaySystem:
    """x_i(n) = sum a_ik x_k(n - to_k - back_i) (16), ``matrix`` ``(N, N)``, lags at least 1."""
    a = np.asarray(matrix, dtype=float)
    lag = np.asarray(to)[None, :] + np.asarray(back)[:, None]
    if lag.min() < 1:
        raise ModelError(f"delay: got {lag.min()} steps, expected at least 1 between any two")
    return DelaySystem({int(d): csr_array(np.where(lag == d, a, 0.0)) for d in np.unique(lag)})


class _Entries:
    """Entries of matrices, collected by lag."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.by_lag: dict[int, list[csr_array]] = {}

    def add(
        self, lag: npt.ArrayLike, row: npt.ArrayLike, column: npt.ArrayLike, value: Floats
    ) -> None:
        lags, rows, columns = np.broadcast_arrays(lag, row, column)
        for d in np.unique(lags):
            of = lags == d
            entries = coo_array((value[of], (rows[of], columns[of])), shape=(self.size, self.size))
            self.by_lag.setdefault(int(d), []).append(csr_array(entries))

    def system(self) -> DelaySystem:
        return DelaySystem(
            {d: csr_array(sum(parts[1:], parts[0])) for d, parts in self.by_lag.items()}
        )


def _loops(network: Network, obeyed: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], ...]:
    """All paths from a source k through a resource j to a source i that obeys j: hops of i, and
    hops of k."""
    pairs_i, pairs_k = [], []
    hops = np.arange(len(network.resource))
    for j in range(network.resources):
        at = hops[network.resource == j]
        obeying = at[obeyed[at]]
        pairs_i.append(np.repeat(obeying, len(at)))
        pairs_k.append(np.tile(at, len(obeying)))
    return np.concatenate(pairs_i), np.concatenate(pairs_k)


def linearize_kelly(
    point: FixedPoint, law: Kelly, price: Static, scale: float = 1.0
) -> DelaySystem:
    """Linearizes classic Kelly control at its fixed point; ``scale`` multiplies all gains."""
    network = point.network
    n = network.sources
    kappa = law.parameters(n)[0] * scale
    slope = price.slope(point.arrivals)
    paid = network.usage.T @ point.prices
    entries, each = _Entries(n), np.arange(n)
    entries.add(np.ones(n, dtype=np.int64), each, each, np.ones(n))
    entries.add(network.delay, each, each, -kappa * paid)
    _feed(entries, network, np.ones(len(network.resource), dtype=bool), kappa * point.rates, slope)
    return entries.system()


def linearize_mkc(point: FixedPoint, law: Mkc, price: Static) -> DelaySystem:
    """Linearizes MKC at its fixed point; no source changes its bottleneck."""
    network = point.network
    n = network.sources
    _, beta = law.parameters(n)
    assert point.bottleneck is not None, "the fixed point of MKC has bottlenecks"
    entries, each = _Entries(n), np.arange(n)
    entries.add(network.delay, each, each, 1 - beta * point.prices[point.bottleneck])
    obeyed = network.resource == point.bottleneck[network.source]
    _feed(entries, network, obeyed, beta * point.rates, price.slope(point.arrivals))
    return entries.system()


def linearize_adaptive(point: FixedPoint, law: Mkc, price: Virtual) -> DelaySystem:
    """Linearizes MKC with adaptive prices at its fixed point on one resource. States: the N rates,
    then V."""
    network = point.network
    n = network.sources
    if network.resources > 1:
        raise ModelError(f"capacity: got {network.resources} resources, expected one")
    _, beta = law.parameters(n)
    total = float(point.arrivals[0])
    virtual = total * (1 - point.prices)
    entries, each = _Entries(n + 1), np.arange(n)
    entries.add(network.delay, each, each, 1 - beta * point.prices[0])
    obeyed = np.ones(len(network.resource), dtype=bool)
    _feed(entries, network, obeyed, beta * point.rates, virtual / total**2)
    entries.add(network.backward, each, n, beta * point.rates / total)
    entries.add(1, np.array([n]), n, np.ones(1))
    entries.add(1 + network.forward, n, each, np.full(n, -price.gain))
    return entries.system()


def _feed(
    entries: _Entries, network: Network, obeyed: npt.NDArray[np.bool_], gain: Floats, slope: Floats
) -> None:
    """Entries by which the rate of k moves a price obeyed by i, F_k + B_i steps later."""
    of_i, of_k = _loops(network, obeyed)
    i, k = network.source[of_i], network.source[of_k]
    lag = network.forward[of_k] + network.backward[of_i]
    entries.add(lag, i, k, -gain[i] * slope[network.resource[of_i]])


def boundary(radius: Callable[[float], float], low: float, high: float) -> float | None:
    """The smallest value between ``low`` and ``high`` at which a spectral radius reaches 1, or
    None. ``radius`` must be below 1 at ``low``; crossings closer than ``(high - low) / SCAN`` may
    be missed."""
    if radius(low) >= 1:
        return low
    before = low
    for value in np.linspace(low, high, SCAN + 1)[1:]:
        if radius(float(value)) >= 1:
            return float(brentq(lambda v: radius(v) - 1, before, float(value), xtol=1e-10))
        before = float(value)
    return None
