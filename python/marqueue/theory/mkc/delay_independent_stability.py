"""Stability under any delays: Theorem 1, Corollary 1, and a sufficient condition beyond them.

A system x(n) = A x(n-1) becomes with delays x_i(n) = sum a_ik x_k(n - to_k - back_i) (16). Its
modes z solve det(A - diag(z^D_i)) = 0, D_i = to_i + back_i (22), so that only round-trip delays
matter. If a mode has modulus 1 or more, then A v = diag(z^D_i) v for some v, and |A v| >= |v|.
Therefore

    a norm |S A S^-1| below 1, S any positive diagonal matrix, is sufficient for any A,     (N)

because S and the diagonal matrix of delays commute. The norm of a symmetric A is its spectral
radius, which gives Theorem 1. The same holds for a matrix that some S makes symmetric, such as
MKC's with a gain for each source. For other matrices stability without delays is not sufficient:
:func:`search` finds delays for which they are unstable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from marqueue.errors import ModelError
from marqueue.theory.mkc.linear import MARGIN, delayed_system
from marqueue.theory.mkc.network import Floats, Integers

Answer = Literal["stable under any delays", "unstable without delays", "not decided"]

#: Relative difference of entries that count as equal: the error of numerical derivatives.
SYMMETRIC = 1e-7


@dataclass(frozen=True)
class Verdict:
    """The result for a Jacobian, with its reason."""

    answer: Answer
    reason: str
    radius: float
    """Spectral radius of the system without delays."""
    norm: float
    """The smallest norm (N) found."""

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}"


def judge(jacobian: npt.ArrayLike) -> Verdict:
    """Applies Theorem 1 to a matrix, or Corollary 1 to the Jacobian of a nonlinear system.

    Raises :class:`ModelError` unless it is a square matrix of finite numbers.
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
            f"a positive diagonal matrix makes it symmetric and commutes with delays; the spectral "
            f"radius is {radius:.6g} (from Theorem 1)"
        )
        return Verdict("stable under any delays", reason, radius, radius)
    norm = least_norm(a)
    if norm < 1 - MARGIN:
        reason = f"not symmetric, but a norm independent of delays is {norm:.6g}"
        return Verdict("stable under any delays", reason, radius, norm)
    reason = (
        f"stable without delays (spectral radius {radius:.6g}) but not symmetric, and the smallest "
        f"norm independent of delays is {norm:.6g}: Theorem 1 does not apply"
    )
    return Verdict("not decided", reason, radius, norm)


def is_symmetric(matrix: npt.ArrayLike) -> bool:
    """Whether the matrix is symmetric, up to rounding."""
    a = _square(matrix)
    return bool(np.abs(a - a.T).max() <= SYMMETRIC * np.abs(a).max(initial=1e-300))


def symmetriser(matrix: npt.ArrayLike) -> Floats | None:
    """The positive diagonal S, ``(N,)``, for which S A S^-1 is symmetric, by s_i^2 a_ik = s_k^2
    a_ki; None if there is none."""
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
    """The smallest norm |S A S^-1| over positive diagonal matrices S that a descent finds."""
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
    """The Jacobian of x(n) = f(x(n-1)) at a point, ``(N, N)``, by central differences."""
    x = np.asarray(point, dtype=float)
    columns = []
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = relative * max(1.0, abs(x[i]))
        columns.append((function(x + step) - function(x - step)) / (2 * step[i]))
    return np.array(columns).T


@dataclass(frozen=True)
class Counterexample:
    """Delays under which a system is unstable."""

    to: Integers
    """Steps from each source to the others, ``(N,)``."""
    back: Integers
    """Steps back to it, ``(N,)``."""
    radius: float
    """The spectral radius with these delays, at least 1."""


def search(
    matrix: npt.ArrayLike, rng: np.random.Generator, tries: int = 200, longest: int = 10
) -> Counterexample | None:
    """Draws random delays of up to ``longest`` steps each way until the system is unstable, at most
    ``tries`` times. Returns them, or None."""
    a = _square(matrix)
    worst: Counterexample | None = None
    for _ in range(tries):
        to, back = rng.integers(0, longest + 1, len(a)), rng.integers(1, longest + 1, len(a))
        radius = delayed_system(a, to, back).radius()
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
