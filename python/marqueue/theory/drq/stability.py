"""The bound on RED's slope under DRQ (Proposition 2), and the exact stability boundary.

Shin, Chong and Rhee, IEEE/ACM ToN 16(2), 2008, section III-C: the system is locally stable if at
every resource the steeper slope of RED times the capacity, 1/s, is below

    psi = sqrt(3/2) sigma^2 / (R L^2 tau^3 w)                                         (32)

with sigma the smallest singular value of the routing matrix with densities, R the number of
congested resources, L the largest rate in packets/s, tau the longest round-trip time, and w the
largest density, at least 1. At the exact boundary the rightmost root of the linear system crosses
the imaginary axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from marqueue.errors import ModelError
from marqueue.theory.drq.fluid import Drq
from marqueue.theory.linear.characteristic import Linear, boundary, rightmost

#: Range of gains searched for the boundary, 1/s, and the factor of a step. At smaller gains roots
#: are so close to zero that rounding hides their sign.
LEAST, MOST, FACTOR = 1e-8, 1e8, 10.0


@dataclass(frozen=True)
class Stability:
    """Slopes of RED times capacity, all in 1/s."""

    bound: float
    """psi of Proposition 2."""
    boundary: float
    """The exact boundary of the model as printed, (7) to (15), with constant round-trip times."""
    boundary_with_queueing: float
    """The exact boundary if round-trip times grow with queues, as in the proof."""
    configured: float
    """The quantity bounded by psi: the largest steeper slope as configured."""


def stability(network: Drq) -> Stability:
    """Bound and boundary of a network.

    Raises :class:`ModelError` if it has no equilibrium, or if no slope is stable, as when two
    congested resources have the same flows.
    """
    at = [network.sharing.index[name] for name in network.optimum.congested]
    capacity = network.sharing.capacity[at] / network.mean_density[at]
    slopes = np.array([network.red[i].steepest for i in at])
    psi = bound(network)
    return Stability(
        bound=psi,
        boundary=_boundary(network.linear, psi),
        boundary_with_queueing=_boundary(network.linear_with_queueing, psi),
        configured=float((slopes * capacity).max()),
    )


def bound(network: Drq) -> float:
    """psi (32), 1/s, of the congested resources."""
    at = [network.sharing.index[name] for name in network.optimum.congested]
    gamma = network.density[at] * np.sqrt(network.sharing.count)
    sigma = np.linalg.eigvalsh(gamma @ gamma.T)[0]
    packet = min(flows.packet for flows in network.flows)
    rates = []
    largest = 1.0
    for i in at:
        densities = network.density[i][network.density[i] > 0]
        cpu = network.resources[i].kind == "cpu"
        rates.append(network.sharing.capacity[i] / (densities.min() if cpu else 1.0) / packet)
        largest = max(largest, float(densities.max()) if cpu else 1.0)
    tau = max(flows.rtt for flows in network.flows)
    psi = np.sqrt(1.5) * max(float(sigma), 0.0) / (len(at) * max(rates) ** 2 * tau**3 * largest)
    return float(psi)


def _boundary(linear: Callable[[float], Linear], near: float) -> float:
    """The boundary, searched from ``near`` upward or downward by factors."""

    @cache
    def real(gain: float) -> float:
        return float(rightmost(linear(gain))[0].real)

    gain = max(near, LEAST)
    while real(gain) >= 0:
        gain /= FACTOR
        if gain < LEAST:
            raise ModelError("slope: no slope is stable; do two resources have the same flows?")
    while real(gain * FACTOR) < 0:
        gain *= FACTOR
        if gain > MOST:
            raise ModelError(f"slope: stable up to {MOST:g} 1/s; is there a delay?")
    return boundary(linear, gain, gain * FACTOR)
