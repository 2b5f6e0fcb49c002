"""Stationary rates of Kelly control and MKC, on any routes.

Kelly (9): omega_i = x_i times the sum of the prices of the route. These are the conditions for the
maximum of

    sum_i omega_i ln x_i - sum_j integral of p_j up to X_j,

which is strictly concave if prices increase, so that the solution is unique; Newton's method finds
it.

MKC (12): alpha_i = beta_i x_i times the highest price of the route. All sources with the same
bottleneck have rates in proportion to alpha_i / beta_i. The rates are those of water-filling with
the level 1 / price: a resource stops the sources that use it at the level at which its price is 1 /
level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from marqueue.errors import ModelError
from marqueue.theory.allocation.maxmin import fill
from marqueue.theory.mkc.laws import Kelly, Mkc
from marqueue.theory.mkc.network import Floats, Integers, Network
from marqueue.theory.mkc.price import Loss, Static

#: Largest number of Newton steps: rates over many orders of magnitude take a few dozen.
ROUNDS = 500
#: Largest number of halvings of a Newton step that goes too far.
SEARCHES = 12
#: Relative accuracy of the solution.
TOLERANCE = 1e-12
#: Halvings of a range of levels down to the last digit of a double.
HALVINGS = 2000


@dataclass(frozen=True)
class FixedPoint:
    """Stationary rates."""

    network: Network
    rates: Floats
    """x*, ``(N,)``."""
    prices: Floats
    """p*, ``(M,)``."""
    bottleneck: Integers | None = None
    """MKC: the resource whose price each source obeys, ``(N,)``."""

    @property
    def arrivals(self) -> Floats:
        """X*, ``(M,)``."""
        return self.network.arrivals(self.rates)

    @property
    def loss(self) -> Floats:
        """Share of arrivals that exceeds each capacity, ``(M,)``: at a link, the loss ratio."""
        return np.maximum(0.0, 1 - self.network.capacity / self.arrivals)


def kelly_fixed_point(network: Network, law: Kelly, price: Static) -> FixedPoint:
    """The stationary rates of classic Kelly control.

    Raises :class:`ModelError` if Newton's method does not converge, as with prices that do not
    increase.
    """
    _, omega = law.parameters(network.sources)
    rates = omega + network.capacity.max() / network.sources
    usage = network.usage

    def excess(x: Floats) -> Floats:
        pays: Floats = omega / x - usage.T @ price(usage @ x)
        return pays

    pays = excess(rates)
    for _ in range(ROUNDS):
        if np.all(np.abs(pays * rates) <= TOLERANCE * omega):
            return FixedPoint(network, rates, price(network.arrivals(rates)))
        step = _newton(network, rates, omega, pays, price)
        # Rates stay above zero, and the objective, which is concave with gradient ``excess``, must
        # increase along the whole step.
        share = min(1.0, 0.95 / max(1e-300, float((-step / rates).max(initial=0.0))))
        passed = 0.0
        if excess(rates + share * step) @ step < 0:
            for _ in range(SEARCHES):
                middle = (passed + share) / 2
                if excess(rates + middle * step) @ step < 0:
                    share = middle
                else:
                    passed = middle
            share = passed or share
        rates = rates + share * step
        pays = excess(rates)
    if np.all(np.abs(pays * rates) <= 1e-9 * omega):
        return FixedPoint(network, rates, price(network.arrivals(rates)))
    raise ModelError(
        f"price: no stationary rates were found in {ROUNDS} rounds, expected a price "
        "that rises with what arrives"
    )


def _newton(network: Network, rates: Floats, omega: Floats, pays: Floats, price: Static) -> Floats:
    """The Newton step (diag(omega / x^2) + A diag(p') A^T)^-1 times the residual, by the matrix
    inversion lemma in the M resources, which are few."""
    usage = network.usage
    inverse = rates**2 / omega
    slopes = price.slope(usage @ rates)
    small = np.eye(network.resources) + slopes[:, None] * (usage * inverse @ usage.T).toarray()
    through = solve(small, slopes * (usage @ (inverse * pays)))
    step: Floats = inverse * (pays - usage.T @ through)
    return step


def mkc_fixed_point(network: Network, law: Mkc, price: Static) -> FixedPoint:
    """The stationary rates of MKC, with the bottleneck of each source."""
    alpha, beta = law.parameters(network.sources)
    if np.any(beta <= 0):
        raise ModelError(f"beta: got {beta.min():g}, expected more than 0: no rate is stationary")

    def limit(load: Floats, growth: Floats) -> Floats:
        if isinstance(price, Loss):
            return _loss_level(price.capacity, load, growth)
        return _level(price, load, growth)

    filling = fill(network.usage, alpha / beta, limit)
    return FixedPoint(
        network, filling.rates, price(network.arrivals(filling.rates)), filling.bottleneck
    )


def _loss_level(capacity: Floats, load: Floats, growth: Floats) -> Floats:
    """The level t with t (1 - C / (L + W t)) = 1: the positive root of W t^2 + (L - C - W) t - L =
    0."""
    half = (load - capacity - growth) / 2
    root = np.sqrt(half**2 + growth * load)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of the two forms of the root, the one that adds terms of the same sign (no cancellation).
        level: Floats = np.where(half <= 0, (root - half) / growth, load / (root + half))
    return level


def _level(price: Static, load: Floats, growth: Floats) -> Floats:
    """The level t with t p(L + W t) = 1, by bisection on a logarithmic scale."""
    low, high = np.full_like(load, 1e-150), np.full_like(load, 1e150)
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        with np.errstate(over="ignore"):
            above = middle * price(load + growth * middle) > 1
        low, high = np.where(above, low, middle), np.where(above, middle, high)
        if np.all(high <= low * (1 + 1e-15)):
            break
    return np.sqrt(low * high)
