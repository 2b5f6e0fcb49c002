"""From a graph to links and classes of flows, which take the routes of least propagation delay."""

from heapq import heappop, heappush
from itertools import pairwise

from marqueue.errors import show, unknown
from marqueue.scenario.network import Network, OneWay, PerFlow
from marqueue.scenario.topology import Graph, GraphClass, GraphLink
from marqueue.units import Duration

NONE = Duration(0)

Edges = dict[str, list[tuple[str, int]]]
"""The neighbours of each node, each with the link to it."""


def expand_graph(net: Network, topology: Graph) -> None:
    """Adds the links and classes of a graph, and its problems."""
    edges: Edges = {}
    for i, table in enumerate(topology.links):
        path = f"topology.links.{i}"
        if table.from_ == table.to:
            net.refuse(
                f"{path}.to", f"got {show(table.to)}, expected a node other than where it begins"
            )
        net.refuse_unmanaged(table, path)
        delay, own = _link_delay(net, table, path)
        there = net.add(
            OneWay(
                table.name,
                table.rate,
                delay,
                path,
                table,
                table,
                trace=table.trace,
                per_flow=own,
            )
        )
        edges.setdefault(table.from_, []).append((table.to, there))
        edges.setdefault(table.to, [])
        if table.duplex:
            name = f"{table.name}/back"
            alike = table.rate, delay, path
            back = net.add(
                OneWay(name, *alike, trace=table.trace, back_of=table.name, per_flow=own)
            )
            edges[table.to].append((table.from_, back))
    for i, flow_class in enumerate(topology.classes):
        _add_class(net, edges, flow_class, f"topology.classes.{i}")


def _link_delay(net: Network, table: GraphLink, path: str) -> tuple[Duration, PerFlow | None]:
    """The delay of a link, the shortest if flows differ, and its law then."""
    if isinstance(table.delay, Duration):
        return table.delay, None
    net.refuse_extras(table, path, table.trace)
    if table.buffer is not None or table.schedule or table.cpu is not None:
        expected = "one delay for a link with a queue, a schedule or a CPU"
        net.refuse(f"{path}.delay", f"got {show(str(table.delay))}, expected {expected}")
    if problem := table.delay.problem(NONE):
        key, message = problem
        net.refuse(f"{path}.delay.{key}", message)
    return table.delay.shortest(NONE), PerFlow(table.delay.plan(NONE, parts=1), table.name)


def _add_class(net: Network, edges: Edges, table: GraphClass, path: str) -> None:
    named = {"from": table.from_, "to": table.to} | {
        f"via.{i}": node for i, node in enumerate(table.via)
    }
    strangers = {key: node for key, node in named.items() if node not in edges}
    for key, node in strangers.items():
        net.refuse(f"{path}.{key}", unknown(node, sorted(edges)))
    if strangers:
        return
    stops = [table.from_, *table.via, table.to]
    ways = []
    for direction in (stops, stops[::-1]):
        way: list[int] = []
        for start, end in pairwise(direction):
            leg = _shortest(net.links, edges, start, end)
            if not leg:
                net.refuse(
                    path,
                    f"no way from {show(start)} to {show(end)}, expected links that lead there",
                )
                return
            way += leg
        ways.append(tuple(way))
    net.add_class(table.name, ways[0], ways[1])


def _shortest(links: list[OneWay], edges: Edges, start: str, end: str) -> tuple[int, ...]:
    """The route of least propagation delay (Dijkstra 1959); ties are broken by the number of links,
    then by their names. Empty if there is no route."""
    heap: list[tuple[int, int, tuple[str, ...], str, tuple[int, ...]]] = [(0, 0, (), start, ())]
    done = set()
    while heap:
        delay, hops, names, node, way = heappop(heap)
        if node == end:
            return way
        if node in done:
            continue
        done.add(node)
        for neighbour, link in edges[node]:
            further = (delay + links[link].delay.base, hops + 1, (*names, links[link].name))
            heappush(heap, (*further, neighbour, (*way, link)))
    return ()
