"""Is a system stable under any delays? Theorem 1, Corollary 1, and a little beyond.

A system x(n) = A x(n-1) is given delays: x_i(n) = sum a_ik x_k(n - to_k - back_i) (16). Its modes z
solve det(A - diag(z^D_i)) = 0, D_i = to_i + back_i (22): only round trips matter. If such a z has
modulus 1 or more, then A v = diag(z^D_i) v for some v, so that |A v| >= |v|. Hence

    a norm |S A S^-1| below 1, S any positive diagonal, is enough for any A,                (N)

since S and the diagonal of delays commute. A symmetric A has its spectral radius for a norm, which
is Theorem 1; so has one that S makes symmetric, such as MKC's with other gains for each source. For
other matrices stability without delays does not suffice: :func:`search` finds delays that show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from marqueue.errors import ModelError
from marqueue.theory.mkc.linear import MARGIN, undirected
from marqueue.theory.mkc.network import Floats, Integers

Answer = Literal["stable under any delays", "unstable without delays", "not decided"]

#: Entries that differ by less, relative to the largest, are equal: what differences of a function
#: leave of a derivative.
SYMMETRIC = 1e-7


@dataclass(frozen=True)
class Verdict:
    """What can be said of a Jacobian, and why."""

    answer: Answer
    reason: str
    radius: float
    """The spectral radius: of the system without delays."""
    norm: float
    """The least norm (N) that was found."""

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}"


def judge(jacobian: npt.ArrayLike) -> Verdict:
    """Theorem 1 for a matrix, Corollary 1 for the Jacobian of a nonlinear system at a fixed point.

    Raises :class:`ModelError` for what is no square matrix of finite numbers.
    """
    a = _square(jacobian)
    radius = float(np.abs(np.linalg.eigvals(a)).max())
    if radius >= 1 - MARGIN:
        reason = f"the spectral radius is {radius:.6g}, which with all delays of 1 must be below 1"
        return Verdict("unstable without delays", reason, radius, float(np.linalg.norm(a, 2)))
    if is_symmetric(a):
        reason = f"symmetric, with a spectral radius of {radius:.6g} (Theorem 1, Corollary 1)"
        return Verdict("stable under any delays", reason, radius, radius)
    scales = symmetriser(a)
    if scales is not None:
        reason = (
            f"a positive diagonal makes it symmetric, and delays commute with that; the spectral "
            f"radius is {radius:.6g} (from Theorem 1)"
        )
        return Verdict("stable under any delays", reason, radius, radius)
    norm = least_norm(a)
    if norm < 1 - MARGIN:
        reason = f"not symmetric, but a norm that delays do not change is {norm:.6g}"
        return Verdict("stable under any delays", reason, radius, norm)
    reason = (
        f"stable without delays (spectral radius {radius:.6g}) but not symmetric, and the least "
        f"norm that delays do not change is {norm:.6g}: Theorem 1 says nothing"
    )
    return Verdict("not decided", reason, radius, norm)


def is_symmetric(matrix: npt.ArrayLike) -> bool:
    """Up to rounding."""
    a = _square(matrix)
    return bool(np.abs(a - a.T).max() <= SYMMETRIC * np.abs(a).max(initial=1e-300))


def symmetriser(matrix: npt.ArrayLike) -> Floats | None:
    """The positive diagonal S, ``(N,)``, with S A S^-1 symmetric, or None: s_i^2 a_ik = s_k^2
    a_ki."""
    a = _square(matrix)
    scale = SYMMETRIC * float(np.abs(a).max(initial=1e-300))
    square = np.full(len(a), np.nan)
    for root in range(len(a)):
        if not np.isnan(square[root]):
            continue
        square[root] = 1.0
        reached = [root]
        for i in reached:
            for k in np.flatnonzero((np.abs(a[i]) > scale) & np.isnan(square)):
                if a[i, k] * a[k, i] <= 0:
                    return None
                square[k] = square[i] * a[i, k] / a[k, i]
                reached.append(int(k))
    s: Floats = np.sqrt(square)
    return s if is_symmetric(a * s[:, None] / s[None, :]) else None


def least_norm(matrix: npt.ArrayLike) -> float:
    """The least norm |S A S^-1| over positive diagonals S, as far as descent finds it."""
    a = _square(matrix)

    def norm(logs: Floats) -> float:
        scaled = a * np.exp(logs[:, None] - logs[None, :])
        return float(np.linalg.norm(scaled, 2))

    if len(a) > 60:
        return norm(np.zeros(len(a)))
    found = minimize(norm, np.zeros(len(a)), method="Powell", options={"maxiter": 200})
    return min(float(found.fun), norm(np.zeros(len(a))))


def jacobian(
    function: Callable[[Floats], Floats], point: npt.ArrayLike, relative: float = 6e-6
) -> Floats:
    """``(N, N)``: of x(n) = f(x(n-1)) at a point, by central differences, for Corollary 1."""
    x = np.asarray(point, dtype=float)
    columns = []
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = relative * max(1.0, abs(x[i]))
        columns.append((function(x + step) - function(x - step)) / (2 * step[i]))
    return np.array(columns).T


@dataclass(frozen=True)
class Counterexample:
    """Delays under which a system is not stable."""

    to: Integers
    """Steps from each source to the others, ``(N,)``."""
    back: Integers
    """Steps back to it, ``(N,)``."""
    radius: float
    """The spectral radius with these delays, at least 1."""


def search(
    matrix: npt.ArrayLike, rng: np.random.Generator, tries: int = 200, longest: int = 10
) -> Counterexample | None:
    """Draws delays of up to ``longest`` steps each way until the system is not stable, at most
    ``tries`` times; the worst of those, or None."""
    a = _square(matrix)
    worst: Counterexample | None = None
    for _ in range(tries):
        to, back = rng.integers(0, longest + 1, len(a)), rng.integers(1, longest + 1, len(a))
        radius = undirected(a, to, back).radius()
        if radius > 1 + MARGIN and (worst is None or radius > worst.radius):
            worst = Counterexample(to, back, radius)
    return worst


def _square(matrix: npt.ArrayLike) -> Floats:
    a = np.asarray(matrix, dtype=float)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not a.size:
        raise ModelError(f"jacobian: got the shape {a.shape}, expected a square matrix")
    if not np.isfinite(a).all():
        raise ModelError("jacobian: got a value that is not finite, expected finite numbers")
    return a
