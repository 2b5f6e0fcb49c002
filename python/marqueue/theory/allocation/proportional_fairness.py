"""Proportional fairness over CPUs and links: the allocation that DRQ aims at.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section II-B, problem P:

    maximise  sum of alpha_s log r_s   subject to   A r <= c, r >= 0                 (2)-(5)

At the optimum r_s = alpha_s / (sum of w_s^k theta_k + sum of pi_l)                  (6)

with a price theta_k for each CPU, in bits/cycle, and a price pi_l for each link, without unit. Only
full resources have a price above zero. TCP Reno under DRQ has alpha_s = sqrt(3/2) M_s / tau_s
(Proposition 1).

The solver is an interior point method in the prices. With rates as in (6), slack s = c - A r and a
target m that goes to zero, it applies Newton's method to p_i s_i = m,

    (A diag(r^2 / alpha) A' + diag(s / p)) dp = ...                    resources by resources

so that the cost hardly depends on the number of flows. Near its maximum log r is flat. A solver
that stops by its objective, as conic solvers do, therefore finds rates to about 1e-5 only; this one
stops by the conditions of Karush, Kuhn and Tucker. Rates are in units of
:func:`marqueue.theory.allocation.allocations.feasible`, prices in shares of the total payment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csc_array, csr_array, diags_array

from marqueue.errors import ModelError
from marqueue.theory.allocation.allocations import feasible
from marqueue.theory.allocation.resources import Allocation, Floats, Kind, Sharing

Region = Literal["CPU-limited", "jointly limited", "bandwidth-limited", "not congested"]

#: Largest residual of an accepted solution.
TOLERANCE = 1e-9
#: Residual at which Newton's method stops: well below TOLERANCE, and above rounding errors.
TARGET = 1e-12
#: Largest number of Newton steps; random networks take 12 to 20.
STEPS = 100
#: Resources for which Newton's method takes no time: it solves a system of as many equations.
FEW = 500
#: Use beyond a capacity at which a resource that was left out is added.
EXCEEDED = 1e-10
#: Largest part of the way to a boundary that a step takes, and the factor by which the target
#: falls.
INSIDE, CENTRING = 0.99, 0.1
#: Smallest payment for a resource, as a share of the sum of alpha, that counts as a price. At the
#: border of two regions a full resource without a price keeps about the root of TARGET.
PAID = 1e-5


@dataclass(frozen=True)
class Residuals:
    """Residuals of the conditions of Karush, Kuhn and Tucker; all relative."""

    stationarity: float
    """The largest ``|r_s (sum of prices) / alpha_s - 1|`` (6)."""
    excess: float
    """The largest use beyond a capacity (3), (4)."""
    negativity: float
    """The most negative price, as a share of the total payment."""
    slackness: float
    """The largest payment for unused capacity, as a share of the total payment."""

    @property
    def worst(self) -> float:
        """The largest residual."""
        return max(self.stationarity, self.excess, self.negativity, self.slackness)


@dataclass(frozen=True)
class Optimum(Allocation):
    """The solution of problem P."""

    prices: Floats
    """Price of each resource: theta, bits/cycle, or pi."""
    residuals: Residuals

    @cached_property
    def paid(self) -> Floats:
        """Price times capacity of each resource, as a share of the total payment (the sum of
        alpha)."""
        return _paid(self.sharing, self.prices)

    @cached_property
    def congested(self) -> tuple[str, ...]:
        """The resources with a price."""
        every = zip(self.sharing.resources, self.paid, strict=True)
        return tuple(resource.name for resource, paid in every if paid > PAID)

    @property
    def region(self) -> Region:
        """Which kinds of resources limit the flows."""
        return self.region_of(self.congested)

    def region_of(self, names: Iterable[str]) -> Region:
        """The region of some of the resources, such as a CPU with its link, or those of a route."""
        congested = set(self.congested)
        kinds: set[Kind] = {
            r.kind for r in self.sharing.resources if r.name in congested.intersection(names)
        }
        if len(kinds) == 2:
            return "jointly limited"
        if not kinds:
            return "not congested"
        return "CPU-limited" if "cpu" in kinds else "bandwidth-limited"


def proportionally_fair(sharing: Sharing) -> Optimum:
    """The optimum of problem P, with prices.

    Raises :class:`ModelError` if the solver does not converge, as with capacities or densities that
    differ by many orders of magnitude.
    """
    unit = feasible(sharing)
    finite = np.isfinite(sharing.capacity)
    share = diags_array(1 / sharing.capacity[finite]) @ sharing.density[finite]
    a = csr_array(share @ diags_array(sharing.count * unit))
    pays = sharing.count * sharing.weight
    total = float(pays.sum())
    earned = _earned(a, pays / total)
    rates = unit * pays / total / (a.T @ earned)
    prices = np.zeros(len(sharing.resources))
    prices[finite] = earned * total / sharing.capacity[finite]
    found = residuals(sharing, rates, prices)
    if not found.worst <= TOLERANCE:
        raise ModelError(
            f"the optimum was not found: residuals of {found.worst:.1g} are left, expected "
            f"{TOLERANCE:g}; are capacities, densities or weights many orders of magnitude apart?"
        )
    return Optimum(sharing, rates, prices, found)


def _earned(a: csr_array, pays: Floats) -> Floats:
    """The prices p at which the rates ``pays / (a' p)`` use at most one unit of each resource, and
    exactly one where p is above zero.

    Of many resources few have a price. The solver begins with the most used one on each way and
    adds those that the rates found exceed, until they exceed none.
    """
    resources = a.shape[0]
    chosen = np.full(resources, resources <= FEW)
    if resources > FEW:
        chosen[_most_used(a)] = True
    while True:
        earned = np.zeros(resources)
        earned[chosen] = _earned_by_all(csr_array(a[chosen]), pays)
        exceeded = a @ (pays / (a.T @ earned)) > 1 + EXCEEDED
        if not np.any(exceeded & ~chosen):
            return earned
        chosen |= exceeded


def _most_used(a: csr_array) -> npt.NDArray[np.int64]:
    """The resource on the way of each flow that is used most at rates of one."""
    used = a.sum(axis=1)
    by_flow = csc_array(a)
    flows = np.repeat(np.arange(a.shape[1]), np.diff(by_flow.indptr))
    order = np.lexsort((used[by_flow.indices], flows))
    last: npt.NDArray[np.int64] = by_flow.indices[order][by_flow.indptr[1:] - 1].astype(np.int64)
    return last


def _earned_by_all(a: csr_array, pays: Floats) -> Floats:
    """The same, by Newton's method for all resources."""
    of_flow = csr_array(a.T)
    earned = np.full(a.shape[0], 1 / a.shape[0])
    slack = np.ones(a.shape[0])
    for _ in range(STEPS):
        sums = of_flow @ earned
        missing = 1 - a @ (pays / sums) - slack
        gap = earned * slack
        if max(np.abs(missing).max(), gap.max()) < TARGET:
            break
        rise = CENTRING * gap.mean() - gap
        root = a @ diags_array(np.sqrt(pays) / sums)
        hessian = (root @ root.T).toarray()
        hessian[np.diag_indices_from(hessian)] += slack / earned
        more_earned = cho_solve(cho_factor(hessian), rise / earned - missing)
        more_slack = (rise - slack * more_earned) / earned
        step = min(1.0, *(_room(x, dx) for x, dx in ((earned, more_earned), (slack, more_slack))))
        earned = earned + step * more_earned
        slack = slack + step * more_slack
    return earned


def _room(x: Floats, dx: Floats) -> float:
    """The largest factor by which ``dx`` may be multiplied so that ``x + dx`` stays above zero."""
    sinks = dx < 0
    return INSIDE * float((x[sinks] / -dx[sinks]).min(initial=np.inf))


def residuals(sharing: Sharing, rates: Floats, prices: Floats) -> Residuals:
    """The residuals of any rates and prices."""
    sums = sharing.density.T @ prices
    used = sharing.used(rates)
    paid = _paid(sharing, prices)
    return Residuals(
        stationarity=float(np.abs(rates * sums / sharing.weight - 1).max()),
        excess=float(np.maximum(used - 1, 0).max()),
        negativity=float(np.maximum(-paid, 0).max()),
        slackness=float(np.abs(paid * (1 - used)).max()),
    )


def _paid(sharing: Sharing, prices: Floats) -> Floats:
    finite = np.isfinite(sharing.capacity)
    worth = np.where(finite, prices * np.where(finite, sharing.capacity, 0.0), 0.0)
    share: Floats = worth / (sharing.count @ sharing.weight)
    return share
