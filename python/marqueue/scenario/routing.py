"""Routes of least propagation delay in a graph (Dijkstra 1959).

Ties are broken by the number of links, then by the names of the links in their order. So a route
depends neither on the order of links nor on what else is in the scenario.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple


class Edge(NamedTuple):
    """A link from a node."""

    to: int
    delay: int
    """In ns."""
    link: int
    """The index of the link."""


@dataclass(frozen=True)
class Tree:
    """The best routes from one node to all others."""

    before: list[tuple[int, int]]
    """For each node, the node before it and the link from there; (-1, -1) for the first node and
    for those without a route."""

    def way(self, end: int) -> tuple[int, ...]:
        """The links of the route to a node; empty if there is none."""
        way = []
        node, link = self.before[end]
        while link >= 0:
            way.append(link)
            node, link = self.before[node]
        return tuple(reversed(way))


@dataclass
class Routing:
    """The nodes and links of a graph, and the trees that were asked for."""

    nodes: dict[str, int] = field(default_factory=dict)
    """The number of each node by name."""
    edges: list[list[Edge]] = field(default_factory=list)
    """The links from each node."""
    names: dict[int, str] = field(default_factory=dict)
    """The name of each link."""
    _trees: dict[int, Tree] = field(default_factory=dict)

    def __contains__(self, node: str) -> bool:
        return node in self.nodes

    def add(self, start: str, end: str, link: int, delay: int, name: str) -> None:
        """Adds a link between two nodes, which are added too; its delay is in ns."""
        for node in (start, end):
            if node not in self.nodes:
                self.nodes[node] = len(self.edges)
                self.edges.append([])
        self.edges[self.nodes[start]].append(Edge(self.nodes[end], delay, link))
        self.names[link] = name
        self._trees.clear()

    def shortest(self, start: str, end: str) -> tuple[int, ...]:
        """The links of the route from a node to another; empty if there is none."""
        first = self.nodes[start]
        if first not in self._trees:
            self._trees[first] = self._tree(first)
        return self._trees[first].way(self.nodes[end])

    def _tree(self, first: int) -> Tree:
        """The routes from a node to all others."""
        far = (1 << 63, 0)
        best = [far] * len(self.edges)
        tree = Tree([(-1, -1)] * len(self.edges))
        best[first] = (0, 0)
        heap = [(0, 0, first)]
        while heap:
            delay, hops, node = heappop(heap)
            if (delay, hops) != best[node]:
                continue
            for edge in self.edges[node]:
                through = (delay + edge.delay, hops + 1)
                if through < best[edge.to]:
                    best[edge.to] = through
                    tree.before[edge.to] = (node, edge.link)
                    heappush(heap, (*through, edge.to))
                elif through == best[edge.to] and self._is_first(tree, node, edge):
                    tree.before[edge.to] = (node, edge.link)
        return tree

    def _is_first(self, tree: Tree, node: int, edge: Edge) -> bool:
        """Whether the names of the route over this link come before those of the best so far. Both
        have equal delays and numbers of links, and both nodes before are settled."""
        there, link = tree.before[edge.to]
        mine = [*map(self.names.__getitem__, (*tree.way(node), edge.link))]
        return mine < [*map(self.names.__getitem__, (*tree.way(there), link))]
