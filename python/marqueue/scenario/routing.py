"""Routes of least propagation delay in a graph (Dijkstra 1959).

Ties are broken by the number of links, then by the names of the links in their order. So a route
depends neither on the order of links nor on what else is in the scenario.
"""

from array import array
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

HOP_BITS = 24
"""A delay and a number of links are one number, which Python compares faster than two."""


class Edge(NamedTuple):
    """A link between two nodes."""

    start: int
    end: int
    delay: int
    """In ns."""
    link: int
    """Its index in the network."""
    name: str


class Routing:
    """The nodes and links of a graph, and the routes between them."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        """The number of each node by name."""
        self._edges: list[Edge] = []
        self._trees: _Trees | None = None

    def __contains__(self, node: str) -> bool:
        return node in self.nodes

    def add(self, start: str, end: str, link: int, delay: int, name: str) -> None:
        """Adds a link between two nodes, which are added too; its delay is in ns."""
        one, other = (self.nodes.setdefault(node, len(self.nodes)) for node in (start, end))
        self._edges.append(Edge(one, other, delay, link, name))
        self._trees = None

    def shortest(self, start: str, end: str) -> tuple[int, ...]:
        """The links of the route from a node to another; empty if there is none."""
        if self._trees is None:
            self._trees = _trees(len(self.nodes), tuple(self._edges))
        return self._trees.way(self.nodes[start], self.nodes[end])


class _Trees:
    """The best routes from single nodes to all others, for each node that was asked for."""

    def __init__(self, nodes: int, edges: tuple[Edge, ...]) -> None:
        self._edges = edges
        # The costs of a route are the sum of those of its links.
        self._from: list[list[tuple[int, int, int]]] = [[] for _ in range(nodes)]
        for i, edge in enumerate(edges):
            self._from[edge.start].append((edge.end, (edge.delay << HOP_BITS) + 1, i))
        self._into: dict[int, array[int]] = {}

    def way(self, start: int, end: int) -> tuple[int, ...]:
        """The links of the route from a node to another; empty if there is none."""
        if start not in self._into:
            self._into[start] = self._tree(start)
        return tuple(self._edges[i].link for i in self._steps(self._into[start], end))

    def _steps(self, into: "array[int]", end: int) -> list[int]:
        """The edges of the route to a node."""
        steps = []
        while (i := into[end]) >= 0:
            steps.append(i)
            end = self._edges[i].start
        return steps[::-1]

    def _tree(self, first: int) -> "array[int]":
        """For each node, the last edge of the route to it; -1 for the first node and for those
        without a route."""
        best = [1 << 100] * len(self._from)
        into = array("i", [-1]) * len(self._from)
        best[first] = 0
        heap = [(0, first)]
        while heap:
            cost, node = heappop(heap)
            if cost > best[node]:
                continue
            for end, more, i in self._from[node]:
                through = cost + more
                if through < best[end]:
                    best[end] = through
                    into[end] = i
                    heappush(heap, (through, end))
                elif through == best[end] and self._is_first(into, i):
                    into[end] = i
        return into

    def _is_first(self, into: "array[int]", i: int) -> bool:
        """Whether the names of the route over this edge come before those of the best so far. Both
        have equal costs, and the nodes before the last are settled."""
        mine, other = (
            [self._edges[step].name for step in (*self._steps(into, self._edges[last].start), last)]
            for last in (i, into[self._edges[i].end])
        )
        return mine < other


@lru_cache(maxsize=2)
def _trees(nodes: int, edges: tuple[Edge, ...]) -> _Trees:
    """The trees of a graph. A scenario is compiled several times, from copies too; its routes are
    searched once."""
    return _Trees(nodes, edges)
