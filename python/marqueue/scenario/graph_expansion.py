"""From a graph to links and classes of flows, which take the routes of least propagation delay."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice, pairwise

from marqueue.errors import show, unknown
from marqueue.scenario.network import Network, OneWay, PerFlow
from marqueue.scenario.routing import Routing
from marqueue.scenario.topology import Graph, GraphClass, GraphLink, GraphNode
from marqueue.units import Duration, Packets, Rate, Size

NONE = Duration(0)


def expand_graph(net: Network, topology: Graph) -> None:
    """Adds the links and classes of a graph, and its problems."""
    for key in ("links", "classes"):
        if not getattr(topology, key):
            net.refuse(f"topology.{key}", "got a list of 0, expected at least one")
    for key in ("file", "matrix"):
        if getattr(topology, key) is not None:
            expected = "expected it in a scenario that is read from a file or a text"
            net.refuse(f"topology.{key}", f"got a {key}, {expected}")
    routing = Routing()
    for i, table in enumerate(topology.links):
        _add_link(net, routing, topology, table, f"topology.links.{i}")
    _refuse_nodes(net, routing, topology.nodes)
    if not net.problems:
        _add_classes(net, routing, topology.classes)


def _add_link(net: Network, routing: Routing, topology: Graph, given: GraphLink, path: str) -> None:
    """Adds a link, with the topology's values for what it has not itself, and its reverse
    direction."""
    if given.from_ == given.to:
        message = f"got {show(given.to)}, expected a node other than where it begins"
        net.refuse(f"{path}.to", message)
    rate = given.rate or topology.rate
    if rate is None:
        net.refuse(f"{path}.rate", f"missing, expected {Rate.dimension.expected}, or topology.rate")
        rate = Rate(1)
    if given.delay is None and topology.delay is None:
        expected = f"{Duration.dimension.expected}, or topology.delay"
        net.refuse(f"{path}.delay", f"missing, expected {expected}")
    delay, own = _link_delay(net, given, topology.delay or NONE, path)
    table = given
    if own is None and given.buffer is None and topology.buffer is not None:
        table = given.model_copy(update={"buffer": _in_bytes(topology.buffer, rate)})
    aqm_path = None
    if table.buffer is not None and table.aqm is None and topology.aqm is not None:
        table, aqm_path = table.model_copy(update={"aqm": topology.aqm}), "topology.aqm"
    net.refuse_unmanaged(table, path)
    there = net.add(
        OneWay(
            table.name,
            rate,
            delay,
            path,
            table,
            table,
            trace=table.trace,
            per_flow=own,
            aqm_path=aqm_path,
        )
    )
    routing.add(table.from_, table.to, there, delay.base, table.name)
    if table.duplex:
        name = f"{table.name}/back"
        back = net.add(
            OneWay(name, rate, delay, path, trace=table.trace, back_of=table.name, per_flow=own)
        )
        routing.add(table.to, table.from_, back, delay.base, name)


def _refuse_nodes(net: Network, routing: Routing, nodes: Sequence[GraphNode]) -> None:
    """Records a problem for each place of a node that no link has, or that has another place."""
    places = Counter(each.name for each in nodes)
    for i, each in enumerate(nodes):
        if each.name not in routing:
            net.refuse(f"topology.nodes.{i}.name", unknown(each.name, sorted(routing.nodes)))
        elif places[each.name] > 1:
            message = f"got {show(each.name)} {places[each.name]} times, expected one place"
            net.refuse(f"topology.nodes.{i}.name", message)


def _in_bytes(buffer: Packets | Size | Duration, rate: Rate) -> Packets | Size:
    """A buffer; one that is given as a time is what the link sends in it, and at least a byte."""
    if isinstance(buffer, Duration):
        return Size(max(round(rate.base * buffer.base / 8e9), 1))
    return buffer


def _link_delay(
    net: Network, table: GraphLink, usual: Duration, path: str
) -> tuple[Duration, PerFlow | None]:
    """The delay of a link, the shortest if flows differ, and its law then. ``usual`` is that of
    links that have none."""
    if table.delay is None or isinstance(table.delay, Duration):
        return usual if table.delay is None else table.delay, None
    net.refuse_extras(table, path, table.trace)
    if table.buffer is not None or table.schedule or table.cpu is not None:
        expected = "one delay for a link with a queue, a schedule or a CPU"
        net.refuse(f"{path}.delay", f"got {show(str(table.delay))}, expected {expected}")
    if problem := table.delay.problem(NONE):
        key, message = problem
        net.refuse(f"{path}.delay.{key}", message)
    return table.delay.shortest(NONE), PerFlow(table.delay.plan(NONE, parts=1), table.name)


def _add_classes(net: Network, routing: Routing, classes: Sequence[GraphClass]) -> None:
    """Adds classes, whose routes pass the nodes that they name, and their problems."""
    known = [
        (each, f"topology.classes.{i}")
        for i, each in enumerate(classes)
        if not _refuse_strangers(net, routing, each, f"topology.classes.{i}")
    ]
    legs = [leg for each, _ in known for leg in _legs(each)]
    routes = iter(routing.shortest(legs))
    for each, path in known:
        legs = _legs(each)
        found = list(islice(routes, len(legs)))
        if () in found:
            start, end = legs[found.index(())]
            expected = "expected links that lead there"
            net.refuse(path, f"no way from {show(start)} to {show(end)}, {expected}")
            continue
        there, back = found[: len(legs) // 2], found[len(legs) // 2 :]
        net.add_class(each.name, chain.from_iterable(there), chain.from_iterable(back), each.weight)


def _refuse_strangers(net: Network, routing: Routing, table: GraphClass, path: str) -> bool:
    """Records a problem for each node of a class that is not in the graph. Are there any?"""
    named = {"from": table.from_, "to": table.to} | {
        f"via.{i}": node for i, node in enumerate(table.via)
    }
    strangers = {key: node for key, node in named.items() if node not in routing}
    for key, node in strangers.items():
        net.refuse(f"{path}.{key}", unknown(node, sorted(routing.nodes)))
    return bool(strangers)


def _legs(table: GraphClass) -> list[tuple[str, str]]:
    """From where to where the data of a class goes, one after the other, and then its
    acknowledgements."""
    stops = [table.from_, *table.via, table.to]
    return [*pairwise(stops), *pairwise(stops[::-1])]
