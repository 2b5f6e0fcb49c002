"""From a topology to links and routes.

Every topology becomes a list of one-way links, and classes of flows with a route over them in each
direction.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, pairwise
from typing import Any

from marqueue.errors import Problem, show, unknown
from marqueue.scenario.cpu import Cpu
from marqueue.scenario.delays import DelayDistribution
from marqueue.scenario.impairments import Impairments
from marqueue.scenario.topology import (
    Access,
    AnyLink,
    Dumbbell,
    Graph,
    GraphClass,
    GraphLink,
    Link,
    ParkingLot,
    Queue,
    Star,
    StarClass,
    Topology,
)
from marqueue.units import Duration, Rate

NONE = Duration(0)


@dataclass(frozen=True)
class PerFlow:
    """A link for each flow."""

    law: dict[str, Any]
    """The law of its delay, as in the plan."""
    stream: str
    """The random stream of the delay, which is the same in both directions."""


@dataclass(frozen=True)
class OneWay:
    """A link in one direction."""

    name: str
    """Its name in results, which also selects its random stream."""
    rate: Rate
    delay: Duration
    path: str
    """The path of its table in the scenario."""
    table: AnyLink | None = None
    """That table, if it describes the queue and the schedule of this link; None for a wire."""
    impairments: Impairments | None = None
    """Its impairments, if it has any."""
    trace: bool = False
    """Whether its packets are recorded."""
    back_of: str | None = None
    """The name of the link whose reverse direction this is."""
    cpu: Cpu | None = None
    """The CPU that this entry stands for; its rate follows from the traffic."""
    per_flow: PerFlow | None = None
    """Whether each flow has such a link of its own; ``delay`` is then the shortest one."""

    @property
    def managed(self) -> bool:
        """Whether it has a measured queue."""
        return self.cpu is not None or (self.table is not None and self.table.buffer is not None)


@dataclass(frozen=True)
class Class:
    """A class of flows with its routes, as indices of links."""

    name: str
    forward: tuple[int, ...]
    reverse: tuple[int, ...]
    spread: bool = False
    """Whether its flows have different propagation delays."""


@dataclass
class Network:
    """Links and classes in a stable order, and the problems of the topology."""

    links: list[OneWay] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    cpus: dict[int, int] = field(default_factory=dict)
    """The CPU in front of a link: index of the link to index of the CPU."""

    def refuse(self, path: str, message: str) -> None:
        """Records a problem."""
        self.problems.append(Problem(path, message))

    def add(self, link: OneWay) -> int:
        """Adds a link, after its CPU if it has one, and returns its index."""
        cpu = link.table.cpu if link.table else None
        if cpu is not None:
            self.cpus[len(self.links) + 1] = len(self.links)
            self.links.append(
                OneWay(
                    f"{link.name}/cpu",
                    link.rate,
                    Duration(0),
                    f"{link.path}.cpu",
                    trace=cpu.trace,
                    cpu=cpu,
                )
            )
        self.links.append(link)
        return len(self.links) - 1

    def add_class(self, name: str, forward: Iterable[int], reverse: Iterable[int]) -> None:
        """Adds a class of flows over these links and the CPUs in front of them."""
        there, back = self._way(forward), self._way(reverse)
        laws = [each.law for i in (*there, *back) if (each := self.links[i].per_flow)]
        spread = any("constant" not in law for law in laws)
        self.classes.append(Class(name, there, back, spread))

    def _way(self, links: Iterable[int]) -> tuple[int, ...]:
        steps = ((self.cpus[i], i) if i in self.cpus else (i,) for i in links)
        return tuple(chain.from_iterable(steps))

    def refuse_unmanaged(self, table: AnyLink, path: str) -> None:
        """Records a problem if a table has an AQM but no buffer."""
        if table.buffer is None and table.aqm is not None:
            self.refuse(
                f"{path}.buffer",
                'missing, expected a buffer such as "100 packets" for the AQM',
            )

    def wires(
        self,
        name: str,
        rate: Rate,
        delay: Duration,
        path: str,
        table: Access | StarClass,
        law: dict[str, Any] | None = None,
    ) -> tuple[int, int]:
        """Adds a pair of wires, of which only the forward one is impaired; returns both indices.

        With a law of delays each flow has its own pair.
        """
        trace = isinstance(table, Access) and table.trace
        own = None if law is None else PerFlow(law, name)
        if own is not None:
            self.refuse_extras(table, path, trace)
        there = OneWay(name, rate, delay, path, impairments=table, trace=trace, per_flow=own)
        back = OneWay(f"{name}/back", rate, delay, path, trace=trace, back_of=name, per_flow=own)
        return self.add(there), self.add(back)

    def refuse_extras(self, table: Impairments, path: str, trace: bool) -> None:
        """Records a problem for what links of single flows do not have."""
        expected = "none where each flow has a link of its own"
        for key in table.pipe():
            self.refuse(f"{path}.{key}", f"got impairments, expected {expected}")
        if trace:
            self.refuse(f"{path}.trace", f"got true, expected {expected}")

    def queue(
        self, name: str, back: str, table: Queue, path: str, reverse: Link | None = None
    ) -> tuple[int, int]:
        """Adds a link with a queue and its reverse: a wire of the same rate and delay, or
        ``reverse``.

        Returns both indices.
        """
        there = self.add(
            OneWay(name, table.rate, table.delay, path, table, table, trace=table.trace)
        )
        if reverse is None:
            alike = OneWay(back, table.rate, table.delay, path, trace=table.trace, back_of=name)
            return there, self.add(alike)
        self.refuse_unmanaged(reverse, "topology.reverse")
        own = "topology.reverse", reverse, reverse, reverse.trace
        return there, self.add(OneWay(back, reverse.rate, reverse.delay, *own, name))


def network(topology: Topology) -> Network:
    """The links and classes of a topology."""
    net = Network()
    match topology:
        case Dumbbell():
            _dumbbell(net, topology)
        case ParkingLot():
            _parking_lot(net, topology)
        case Star():
            _star(net, topology)
        case Graph():
            _graph(net, topology)
    _refuse_twins(net)
    return net


def _refuse_twins(net: Network) -> None:
    """Records names that are used twice. If classes are wrong, the links named after them are
    too."""
    for what, names in (
        ("classes", [each.name for each in net.classes]),
        ("links", [link.name for link in net.links]),
    ):
        twins = sorted(name for name, times in Counter(names).items() if times > 1)
        for name in twins:
            net.refuse("topology", f"two {what} are named {show(name)}, expected names that differ")
        if twins:
            return


def _source_delay(net: Network, path: str, rtt: Duration, parts: dict[str, Duration]) -> Duration:
    """The delay of the source's access link: half a round trip less the other parts."""
    rest = rtt.base / 2 - sum(part.base for part in parts.values())
    if rest < 0:
        named = " + ".join(f"{where} ({delay})" for where, delay in parts.items())
        net.refuse(path, f"got {show(str(rtt))}, expected at least twice {named}")
    return Duration(max(round(rest), 0))


def _dumbbell(net: Network, topology: Dumbbell) -> None:
    neck, access = topology.bottleneck, topology.access
    there, back = net.queue("bottleneck", "reverse", neck, "topology.bottleneck", topology.reverse)
    parts = {"topology.bottleneck.delay": neck.delay, "topology.access.delay": access.delay}
    named: list[tuple[str, Duration | DelayDistribution]]
    if isinstance(topology.rtts, DelayDistribution):
        named = [("topology.rtts", topology.rtts)]
    else:
        named = [(f"topology.rtts.{i}", rtt) for i, rtt in enumerate(topology.rtts)]
    for path, rtt in named:
        name, per_flow = str(rtt), access.per_flow or isinstance(rtt, DelayDistribution)
        delay, law = _source(net, path, rtt, parts, per_flow)
        source, source_back = net.wires(
            f"{name}/source", access.rate, delay, "topology.access", access, law
        )
        # A link as fast as the one before it never has a queue, shared or not.
        own_sinks = per_flow and access.rate < neck.rate
        sink, sink_back = net.wires(
            f"{name}/sink",
            access.rate,
            access.delay,
            "topology.access",
            access,
            _constant(access.delay) if own_sinks else None,
        )
        net.add_class(name, (source, there, sink), (sink_back, back, source_back))


def _constant(delay: Duration) -> dict[str, Any]:
    """The law of one delay for all flows."""
    return {"constant": {"delay": delay.base}}


def _source(
    net: Network,
    path: str,
    rtt: Duration | DelayDistribution,
    parts: dict[str, Duration],
    per_flow: bool,
) -> tuple[Duration, dict[str, Any] | None]:
    """The delay of the source's access link (the shortest, if flows differ) and, if each flow has
    its own, its law."""
    if isinstance(rtt, Duration):
        delay = _source_delay(net, path, rtt, parts)
        return delay, _constant(delay) if per_flow else None
    shared = Duration(2 * sum(part.base for part in parts.values()))
    least = rtt.shortest(shared)
    delay = _source_delay(net, path, least, parts)
    if problem := rtt.problem(shared):
        key, message = problem
        net.refuse(f"{path}.{key}", message)
    return delay, rtt.plan(shared, parts=2)


def _star(net: Network, topology: Star) -> None:
    neck = topology.bottleneck
    there, back = net.queue("bottleneck", "reverse", neck, "topology.bottleneck", topology.reverse)
    parts = {"topology.bottleneck.delay": neck.delay}
    for i, each in enumerate(topology.classes):
        path = f"topology.classes.{i}"
        per_flow = isinstance(each.rtt, DelayDistribution)
        delay, law = _source(net, f"{path}.rtt", each.rtt, parts, per_flow)
        source, source_back = net.wires(f"{each.name}/source", each.access, delay, path, each, law)
        net.add_class(each.name, (source, there), (back, source_back))


def _parking_lot(net: Network, topology: ParkingLot) -> None:
    hops = [
        net.queue(f"hop {i}", f"hop {i}/back", hop, f"topology.hops.{i - 1}")
        for i, hop in enumerate(topology.hops, start=1)
    ]
    spans = {"through": hops} | {f"hop {i}": [hop] for i, hop in enumerate(hops, start=1)}
    access = topology.access
    for name, span in spans.items():
        source, source_back = net.wires(
            f"{name}/source", access.rate, access.delay, "topology.access", access
        )
        sink, sink_back = net.wires(
            f"{name}/sink", access.rate, access.delay, "topology.access", access
        )
        forward = (source, *(there for there, _ in span), sink)
        reverse = (sink_back, *(back for _, back in reversed(span)), source_back)
        net.add_class(name, forward, reverse)


Edges = dict[str, list[tuple[str, int]]]
"""The neighbours of each node, each with the link to it."""


def _graph(net: Network, topology: Graph) -> None:
    edges: Edges = {}
    for i, table in enumerate(topology.links):
        path = f"topology.links.{i}"
        if table.from_ == table.to:
            net.refuse(
                f"{path}.to", f"got {show(table.to)}, expected a node other than where it begins"
            )
        net.refuse_unmanaged(table, path)
        delay, own = _graph_delay(net, table, path)
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
        _graph_class(net, edges, flow_class, f"topology.classes.{i}")


def _graph_delay(net: Network, table: GraphLink, path: str) -> tuple[Duration, PerFlow | None]:
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


def _graph_class(net: Network, edges: Edges, table: GraphClass, path: str) -> None:
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
