"""Routes of least propagation delay in a graph.

Ties are broken by the number of links, then by the names of the links in their order. So a route
depends neither on the order of links nor on what else is in the scenario.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import marqueue._core as _core


class Edge(NamedTuple):
    """A link between two nodes."""

    start: int
    end: int
    delay: int
    """In ns."""
    name: str
    link: int
    """Its index in the network."""


class Routing:
    """The nodes and links of a graph, and the routes between them."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        """The number of each node by name."""
        self._edges: list[Edge] = []

    def __contains__(self, node: str) -> bool:
        return node in self.nodes

    def add(self, start: str, end: str, link: int, delay: int, name: str) -> None:
        """Adds a link between two nodes, which are added too; its delay is in ns."""
        one, other = (self.nodes.setdefault(node, len(self.nodes)) for node in (start, end))
        self._edges.append(Edge(one, other, delay, name, link))

    def shortest(self, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[int, ...]]:
        """For each pair of nodes the links of the route from the one to the other; empty if there
        is none. All pairs at once, because the routes from one node are found together."""
        numbers = tuple((self.nodes[start], self.nodes[end]) for start, end in pairs)
        return _routes(len(self.nodes), tuple(self._edges), numbers)


@lru_cache(maxsize=2)
def _routes(
    nodes: int, edges: tuple[Edge, ...], pairs: tuple[tuple[int, int], ...]
) -> Sequence[tuple[int, ...]]:
    """The routes in a graph. A scenario is compiled several times, from copies too; its routes are
    searched once."""
    return _core.shortest_routes(nodes, edges, pairs)
