"""The map of a network: where its nodes are, and what its links did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marqueue.results.data import ResultData
from marqueue.results.graph_layout import by_hops, on_a_map
from marqueue.results.link_totals import LinkTotals
from marqueue.results.modelled import modelled_links
from marqueue.statistics.estimates import Floats

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class NetworkMap:
    """A network with what was measured at its links over all replications and the measured time."""

    nodes: Sequence[str]
    places: Floats
    """Where they are, x to the right and y downwards, shape [nodes, 2]; of any size."""
    geographic: bool
    """Whether nodes are at their coordinates."""
    links: Sequence[str]
    """The links in their direction."""
    ends: Numbers
    """The numbers of the nodes at the beginning and the end of each, shape [links, 2]."""
    utilization: Floats
    """Shape [links], as all that follow; NaN where nothing was measured. The load of links whose
    queue was a model."""
    signal_ratio: Floats
    """The share of packets that were dropped or marked."""
    delay: Floats
    """Mean queueing delay, s."""


def network_map(result: ResultData) -> NetworkMap | None:
    """The map of a result; None if its topology is no graph. Nodes are at their coordinates if
    those of most are known."""
    topology = result.scenario.get("topology", {})
    if topology.get("kind") != "graph":
        return None
    links = topology["links"]
    number: dict[str, int] = {}
    edges = [
        (number.setdefault(each["from"], len(number)), number.setdefault(each["to"], len(number)))
        for each in links
    ]
    known = {
        number[each["name"]]: (each["latitude"], each["longitude"])
        for each in topology.get("nodes", [])
    }
    geographic = 2 * len(known) > len(number)
    names = [each["name"] for each in links]
    return NetworkMap(
        list(number),
        on_a_map(known, edges) if geographic else by_hops(edges),
        geographic,
        names,
        np.array(edges, dtype=np.int64),
        *_measured(result, names),
    )


def lines_of(places: Floats, ends: Numbers, aside: float = 0.0) -> tuple[Floats, Floats]:
    """Where links begin and end, each of shape [links, 2], with each direction moved to the right
    of the way that it goes.

    Args:
        places: Of nodes, as in :class:`NetworkMap`.
        ends: Of links, as in :class:`NetworkMap`.
        aside: How far they are moved, in the unit of places.
    """
    start, end = places[ends[:, 0]], places[ends[:, 1]]
    along = end - start
    long = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    # y is downwards.
    right = np.column_stack([-along[:, 1], along[:, 0]]) / long
    return start + aside * right, end + aside * right


def _measured(result: ResultData, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Utilization, share of packets dropped or marked, and mean delay of links."""
    totals = LinkTotals.of(result)
    row = {name: i for i, name in enumerate(result.links)}
    at = np.array([row.get(name, -1) for name in names])
    utilization, signal_ratio, delay = (
        np.append(values, np.nan)[at]
        for values in (
            np.where(totals.capacity > 0, totals.utilization, np.nan),
            totals.signal_ratio,
            totals.delay,
        )
    )
    loads = {link.name: link.load.mean for link in modelled_links(result)}
    if loads:
        load = np.array([loads.get(name, np.nan) for name in names])
        utilization = np.where(np.isnan(utilization), load, utilization)
    return utilization, signal_ratio, delay
