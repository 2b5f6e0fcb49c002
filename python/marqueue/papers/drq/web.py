"""Web-like flows: Poisson arrivals, sizes by Pareto's law."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

#: Mean size in packets, and shape.
MEAN, SHAPE = 30.0, 1.2
#: The law is cut at these quantiles into slices, each of which is a Poisson process of flows of one
#: size, its mean: sizes have the law's mean, and a largest of some ten thousand packets.
CUTS = (0.0, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999, 1.0)


def tail(share: float) -> float:
    """The part of the mean that the largest ``share`` of sizes make up, packets."""
    return MEAN * share ** (1 - 1 / SHAPE)


def slices() -> list[tuple[float, int]]:
    """The share of flows in each slice, and their size in packets."""
    return [
        (b - a, round((tail(1 - a) - tail(1 - b)) / (b - a)))
        for a, b in pairwise(CUTS)
    ]


def groups(rate: float, density: float, **keys: object) -> list[Mapping[str, Any]]:
    """Groups of such flows, ``rate`` a second in all, of a density in cycles/bit."""
    return [
        {
            "name": f"short {size}",
            "kind": "poisson",
            "rate": f"{share * rate:.6g} /s",
            "size": f"{size} packets",
            "processing": f"{density:g} cycles/bit",
            **keys,
        }
        for share, size in slices()
    ]
