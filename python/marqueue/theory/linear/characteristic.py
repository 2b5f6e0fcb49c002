"""Linear systems with delays, y'(t) = A_0 y(t) + sum of A_j y(t - d_j), and their rightmost roots.

The system is stable if all roots z of det(z I - A_0 - sum of A_j exp(-z d_j)) have negative real
parts. There are infinitely many roots, but only finitely many to the right of any vertical line.
They are the eigenvalues of the infinitesimal generator: the derivative of functions on [-d, 0],
with the equation as boundary condition at 0. Discretized by polynomials through N + 1 Chebyshev
points it becomes a matrix, whose rightmost eigenvalues converge faster than any power of N (Breda,
Maset and Vermiglio, SIAM J. Sci. Comput. 27(2), 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats

Roots = npt.NDArray[np.complex128]

#: Degree of the polynomials: roots of modulus below about 3/d have 8 correct digits.
DEGREE = 12
#: Newton steps on a root, and the largest relative distance they may move it.
POLISHING, NEAR = 30, 0.02


@dataclass(frozen=True)
class Linear:
    """A linear system with delays."""

    now: Floats
    """A_0, 1/s, ``(n, n)``."""
    delayed: Sequence[tuple[float, Floats]]
    """Each delay, s, above zero, with its A_j."""

    @property
    def undelayed(self) -> Floats:
        """The matrix of the system without its delays, 1/s, ``(n, n)``."""
        whole: Floats = self.now + sum((a for _, a in self.delayed), np.zeros_like(self.now))
        return whole

    def matrix(self, z: complex) -> Roots:
        """z I minus the system at z; its determinant is zero at roots."""
        total: Roots = z * np.eye(len(self.now), dtype=complex) - self.now
        for delay, a in self.delayed:
            total -= a * np.exp(-z * delay)
        return total


def rightmost(system: Linear, count: int = 1, degree: int = DEGREE) -> Roots:
    """The ``count`` rightmost roots, 1/s, from right to left."""
    n = len(system.now)
    longest = max((delay for delay, _ in system.delayed), default=0.0)
    if longest == 0.0:
        roots = np.linalg.eigvals(system.now)
    else:
        points, derivative = _chebyshev(degree)
        # Row 0 is the equation at time 0; the other rows are derivatives at earlier times.
        generator = np.kron(derivative * (2 / longest), np.eye(n))
        generator[:n] = 0.0
        generator[:n, :n] = system.now
        for delay, a in system.delayed:
            generator[:n] += np.kron(_lagrange(points, 1 - 2 * delay / longest), a)
        roots = np.linalg.eigvals(generator)
    order = np.lexsort((-roots.imag, -roots.real))
    return roots[order[:count]].astype(complex)


def polished(system: Linear, root: complex) -> complex | None:
    """Refines an approximate root by Newton's method on the determinant, det'/det = trace(M^-1 M').
    Returns None if it does not converge nearby: eigenvalues of :func:`rightmost` far from zero are
    artefacts of the discretization."""
    z = complex(root)
    for _ in range(POLISHING):
        slope = np.eye(len(system.now), dtype=complex)
        for delay, a in system.delayed:
            slope += delay * a * np.exp(-z * delay)
        try:
            step = complex(1 / np.trace(np.linalg.solve(system.matrix(z), slope)))
        except np.linalg.LinAlgError:
            return z  # The matrix is singular: this is a root.
        z -= step
        if not abs(z - root) <= NEAR * (abs(root) + 1e-12):
            return None
        if abs(step) <= 1e-13 * abs(z):
            return z
    return None


def boundary(
    system: Callable[[float], Linear], stable: float, unstable: float, precision: float = 1e-4
) -> float:
    """The gain at which the rightmost root crosses the imaginary axis, between a gain at which
    ``system(gain)`` is stable and one at which it is unstable.

    Raises :class:`ModelError` if the first is not stable or the second not unstable.
    """

    @cache
    def real(log_gain: float) -> float:
        return float(rightmost(system(np.exp(log_gain)))[0].real)

    low, high = np.log(stable), np.log(unstable)
    if not real(low) < 0 < real(high):
        raise ModelError(
            f"gain: expected {stable:g} to be stable and {unstable:g} not, got roots of "
            f"{real(low):.3g} and {real(high):.3g} 1/s"
        )
    return float(np.exp(brentq(real, low, high, xtol=precision)))


@cache
def _chebyshev(degree: int) -> tuple[Floats, Floats]:
    """Chebyshev points from 1 to -1, and the differentiation matrix (Trefethen, "Spectral methods
    in MATLAB", 2000, chapter 6)."""
    k = np.arange(degree + 1)
    x = np.cos(np.pi * k / degree)
    c = np.where((k == 0) | (k == degree), 2.0, 1.0) * (-1.0) ** k
    d = np.outer(c, 1 / c) / (x[:, None] - x + np.eye(degree + 1))
    return x, d - np.diag(d.sum(axis=1))


def _lagrange(points: Floats, x: float) -> Floats:
    """The row that interpolates values at Chebyshev points at ``x`` (barycentric formula)."""
    near = np.isclose(points, x, rtol=0, atol=1e-14)
    if near.any():
        return np.asarray(near, dtype=float)[None, :]
    k = np.arange(len(points))
    c = np.where((k == 0) | (k == len(points) - 1), 0.5, 1.0) * (-1.0) ** k / (x - points)
    row: Floats = (c / c.sum())[None, :]
    return row
