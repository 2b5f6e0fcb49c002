"""Flows that share CPUs and links: the input of every allocation.

Shin, Chong and Rhee, "Dual-resource TCP/AQM for processing-constrained networks", IEEE/ACM ToN
16(2), 2008, section II-A. A flow of rate r, bits/s, uses w r cycles/s of a CPU, where w is its
processing density in cycles/bit, and r bits/s of a link. A link is thus a resource on which every
flow has density 1, and one matrix describes all resources:

    A r <= c,   A[i, s] = the density of flows s at resource i, times their number     (3), (4)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from marqueue.errors import ModelError

Floats = npt.NDArray[np.float64]
Kind = Literal["cpu", "link"]


@dataclass(frozen=True)
class Resource:
    """A CPU or a link."""

    name: str
    kind: Kind
    capacity: float
    """Cycles/s of a CPU, bits/s of a link; infinity for a resource without a limit."""


@dataclass(frozen=True)
class Flows:
    """Identical flows: one route and one weight."""

    name: str
    weight: float
    """alpha of each flow, in the unit of rates: the rate at which the prices of its route sum to
    one."""
    demands: Mapping[str, float]
    """By resource: cycles/bit at a CPU; at a link, how many times the flow crosses it."""
    count: int = 1


@dataclass(frozen=True)
class Sharing:
    """Resources and the flows that share them.

    Raises :class:`ModelError` for flows that no resource limits, a resource without capacity, a
    negative density, or an unknown name.
    """

    resources: tuple[Resource, ...]
    flows: tuple[Flows, ...]
    pairs: tuple[tuple[str, str], ...] = field(default=())
    """CPUs with the link behind each."""

    def __post_init__(self) -> None:
        if not self.flows:
            raise ModelError("flows: got none, expected at least one kind")
        for names in ([r.name for r in self.resources], [f.name for f in self.flows]):
            for name, times in Counter(names).items():
                if times > 1:
                    raise ModelError(f"{name}: got this name {times} times, expected it once")
        for resource in self.resources:
            if not resource.capacity > 0:
                raise ModelError(
                    f"{resource.name}: got a capacity of {resource.capacity:g}, expected more "
                    "than 0"
                )
        for flows in self.flows:
            self._check(flows)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The index of each resource by name."""
        return {resource.name: i for i, resource in enumerate(self.resources)}

    def _check(self, flows: Flows) -> None:
        if not (math.isfinite(flows.weight) and flows.weight > 0):
            raise ModelError(f"{flows.name}: got a weight of {flows.weight:g}, expected above 0")
        if flows.count < 1:
            raise ModelError(f"{flows.name}: got {flows.count} flows, expected at least 1")
        for name, demand in flows.demands.items():
            if name not in self.index:
                raise ModelError(f"{flows.name}: got the resource {name}, which there is not")
            if not (math.isfinite(demand) and demand >= 0):
                what = "density" if self.resources[self.index[name]].kind == "cpu" else "demand"
                raise ModelError(
                    f"{flows.name}: got a {what} of {demand:g} at {name}, expected 0 or more"
                )
        if not any(
            demand > 0 and math.isfinite(self.resources[self.index[name]].capacity)
            for name, demand in flows.demands.items()
        ):
            raise ModelError(
                f"{flows.name}: no resource limits these flows, expected a CPU or a link of "
                "finite capacity on their way"
            )

    @cached_property
    def capacity(self) -> Floats:
        """c of each resource, cycles/s or bits/s."""
        return np.array([r.capacity for r in self.resources])

    @cached_property
    def weight(self) -> Floats:
        """alpha of each entry of flows."""
        return np.array([f.weight for f in self.flows])

    @cached_property
    def count(self) -> Floats:
        """The number of flows of each entry."""
        return np.array([float(f.count) for f in self.flows])

    @cached_property
    def density(self) -> csr_array:
        """Density of one flow, ``(resources, flows)``, cycles/bit or 1; sparse."""
        entries = [
            (self.index[name], s, demand)
            for s, flows in enumerate(self.flows)
            for name, demand in flows.demands.items()
            if demand > 0
        ]
        rows, columns, values = zip(*entries, strict=True)
        shape = len(self.resources), len(self.flows)
        return csr_array((np.array(values), (np.array(rows), np.array(columns))), shape=shape)

    def used(self, rates: Floats) -> Floats:
        """Utilization of each resource at the given rates of single flows, bits/s."""
        used: Floats = self.density @ (self.count * rates) / self.capacity
        return used


@dataclass(frozen=True)
class Allocation:
    """Rates of flows that share resources."""

    sharing: Sharing
    rates: Floats
    """Rate of one flow of each entry, bits/s."""

    @cached_property
    def used(self) -> Floats:
        """Utilization of each resource."""
        return self.sharing.used(self.rates)

    @property
    def total(self) -> float:
        """Rate of all flows together, bits/s."""
        return float(self.sharing.count @ self.rates)

    def rate(self, name: str) -> float:
        """Rate of one flow of this name, bits/s."""
        names = [flows.name for flows in self.sharing.flows]
        return float(self.rates[names.index(name)])
