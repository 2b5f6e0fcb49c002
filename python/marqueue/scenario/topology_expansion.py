"""From a topology to links and classes of flows with routes."""

from collections import Counter
from typing import Any

from marqueue.errors import show
from marqueue.scenario.delays import DelayDistribution
from marqueue.scenario.graph_expansion import expand_graph
from marqueue.scenario.network import Network
from marqueue.scenario.topology import Dumbbell, Graph, ParkingLot, Star, Topology
from marqueue.units import Duration

_MOST_KEPT = 4
"""Networks that are kept: a sweep in threads has several points at work in turns."""

_latest: tuple[tuple[Topology, Network], ...] = ()
"""The topologies that were asked for last, the latest first, with their networks."""


def network(topology: Topology) -> Network:
    """The links and classes of a topology; not to be changed.

    The latest ones are kept, because parts of the program ask for the same ones in turn.
    """
    global _latest
    for known, found in _latest:
        if known is topology:
            return found
    found = _expand(topology)
    _latest = ((topology, found), *_latest[: _MOST_KEPT - 1])
    return found


def _expand(topology: Topology) -> Network:
    net = Network()
    match topology:
        case Dumbbell():
            _dumbbell(net, topology)
        case ParkingLot():
            _parking_lot(net, topology)
        case Star():
            _star(net, topology)
        case Graph():
            expand_graph(net, topology)
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
