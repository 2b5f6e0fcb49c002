"""The tables of [topology]."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from marqueue.scenario.accepted_types import Accepts, Keys, by_default, empty_list
from marqueue.scenario.cpu import Cpu, Signal
from marqueue.scenario.delays import DelayDistribution, OrDistribution
from marqueue.scenario.delivery_trace import TRACE_SCHEMA
from marqueue.scenario.fields import (
    Aqm,
    Buffer,
    DefaultBuffer,
    Durations,
    PacketSize,
    PositiveDuration,
    PositiveRate,
    Table,
)
from marqueue.scenario.impairments import Impairments
from marqueue.scenario.medium import Medium
from marqueue.units import Duration, Packets, Rate, Size


class RateChange(Table):
    """A new rate of a link."""

    at: Accepts[Duration, Duration | str]
    """When it takes effect."""
    rate: Accepts[PositiveRate, Rate | str]
    """The rate from then on."""


class LinkKeys(Impairments):
    """The keys of every link, except its rate and its delay."""

    buffer: Accepts[Buffer | None, Packets | Size | str | None] = by_default(None)
    """Size of the queue, without the packet in transmission. A link without a buffer is a wire: its
    queue is unlimited and not measured."""
    aqm: Accepts[Aqm | None, Aqm | str | Keys | None] = by_default(None)
    """The AQM: its name, or a table with its name and parameters; by default droptail. "linux:" and
    the name of a qdisc stand for that of a kernel, "python:FILE.py:CLASS" for a class in Python."""
    signal: Signal = "ecn"
    """How a mark reaches the sender. drop: by loss. ecn: by CE, or by loss if the packet is not
    ECN-capable. ecn-only: by CE; packets that are not ECN-capable pass unmarked."""
    packet: Accepts[PacketSize | None, Size | str | None] = by_default(None)
    """Typical size of a data packet on the wire, for AQMs that count in packets; by default that of
    the first traffic."""
    schedule: Accepts[list[RateChange], list[RateChange] | list[dict[str, Any]]] = empty_list()
    """Changes of the rate, in order of time."""
    delivery_trace: Accepts[Annotated[list[Duration], WithJsonSchema(TRACE_SCHEMA)], Durations] = (
        empty_list()
    )
    """Times at which 1504 bytes may leave, again and again: a trace of mahimahi, in a file also the
    name of one, of a capture (pcap, pcapng) or of a qlog. ``rate`` is then its mean rate."""
    medium: Accepts[Medium | None, Medium | str | Keys | None] = by_default(None)
    """How the sender gets access to a medium that it may not use at any time: docsis, leo, nr or
    wifi, or a table with the model and its parameters. docs/links.md says for each what ``rate``
    is."""
    trace: bool = False
    """Record every packet that arrives, is marked, is dropped or departs, here and on the reverse
    direction if that is a wire: as a table, and as a pcapng file for Wireshark."""
    cpu: Accepts[Cpu | None, Cpu | dict[str, Any] | None] = by_default(None)
    """A CPU that packets pass before they join the queue. Results call it by the name of the link,
    followed by "/cpu"."""


class Link(LinkKeys):
    """The keys of a link with one delay."""

    rate: Accepts[PositiveRate, Rate | str]
    """Capacity."""
    delay: Accepts[Duration, Duration | str]
    """Propagation delay, one way."""


class Queue(Link):
    """A link with a managed queue."""

    buffer: Accepts[Buffer, Packets | Size | str]
    """Size of the queue, without the packet in transmission."""


class Access(Impairments):
    """The links between end systems and the network. Packets are impaired from source to
    destination, not in the reverse direction."""

    rate: Accepts[PositiveRate, Rate | str] = by_default(Rate(10**9))
    """Capacity."""
    delay: Accepts[Duration, Duration | str] = by_default(Duration(0))
    """Propagation delay, one way."""
    trace: bool = False
    """Record every packet on every access link in both directions, as ``trace`` of a link does."""
    per_flow: bool = False
    """A link for each flow, not one for each class. Always so where round-trip times have a
    distribution. Destinations share a link all the same if it is as fast as the bottleneck: packets
    never wait there."""


SomeRoundTrips = Annotated[list[PositiveDuration], Field(min_length=1)]


class Dumbbell(Table):
    """Sources of several round-trip times share one bottleneck: source, access, left, bottleneck,
    right, access, destination."""

    kind: Literal["dumbbell"] = "dumbbell"
    rtts: Accepts[
        Annotated[list[Duration] | DelayDistribution, OrDistribution(SomeRoundTrips)],
        Durations | DelayDistribution | dict[str, Any],
    ]
    """Two-way propagation delays. A list: each is a class of flows and the name of that class. A
    distribution: each flow has a draw."""
    bottleneck: Accepts[Queue, Queue | dict[str, Any]]
    """The shared link."""
    access: Accepts[Access, Access | dict[str, Any]] = by_default(Access())
    """The access links. The delay is that of the destinations; the sources' links have the rest of
    half the round trip."""
    reverse: Accepts[Link | None, Link | dict[str, Any] | None] = by_default(None)
    """The reverse direction of the bottleneck, with a queue if it has a buffer; by default a wire
    of the same rate and delay."""


class ParkingLot(Table):
    """Bottlenecks in a row: the class "through" crosses all, the class "hop 1" only the first, and
    so on."""

    kind: Literal["parking-lot"]
    hops: Accepts[Annotated[list[Queue], Field(min_length=1)], list[Queue] | list[dict[str, Any]]]
    """The bottlenecks. The reverse direction of each is a wire of the same rate and delay."""
    access: Accepts[Access, Access | dict[str, Any]] = by_default(Access())
    """The access links at both ends of every class."""


class StarClass(Impairments):
    """Sources behind their own access link. Packets are impaired towards the hub, not in the
    reverse direction."""

    name: Annotated[str, Field(min_length=1)]
    """Its name."""
    rtt: Accepts[
        Annotated[Duration | DelayDistribution, OrDistribution(PositiveDuration)],
        Duration | str | DelayDistribution | dict[str, Any],
    ]
    """Two-way propagation delay. With a distribution each flow has a draw and its own access
    link."""
    access: Accepts[PositiveRate, Rate | str] = by_default(Rate(10**9))
    """Capacity of the access link."""


class Star(Table):
    """Classes with their own access links, a hub, and one bottleneck from the hub to all
    destinations."""

    kind: Literal["star"]
    classes: Accepts[
        Annotated[list[StarClass], Field(min_length=1)], list[StarClass] | list[dict[str, Any]]
    ]
    """The classes of flows."""
    bottleneck: Accepts[Queue, Queue | dict[str, Any]]
    """The link from the hub to the destinations."""
    reverse: Accepts[Link | None, Link | dict[str, Any] | None] = by_default(None)
    """The reverse direction of the bottleneck, with a queue if it has a buffer; by default a wire
    of the same rate and delay."""


class GraphLink(LinkKeys):
    """A link between two nodes. Nodes need no declaration."""

    name: Annotated[str, Field(min_length=1)]
    """Its name, unique."""
    rate: Accepts[PositiveRate | None, Rate | str | None] = by_default(None)
    """Capacity; by default that of the topology."""
    delay: Accepts[
        Annotated[Duration | DelayDistribution, OrDistribution(Duration)] | None,
        Duration | str | DelayDistribution | dict[str, Any] | None,
    ] = by_default(None)
    """Propagation delay, one way; by default that of the topology. With a distribution each flow
    has a draw, the same in both directions, and its own link."""
    from_: Annotated[str, Field(alias="from", min_length=1)]
    """The node at its beginning."""
    to: Annotated[str, Field(min_length=1)]
    """The node at its end."""
    duplex: bool = True
    """Whether there is a reverse direction: a wire of the same rate and delay."""


class GraphClass(Table):
    """Flows from one node to another, on the route of least delay."""

    name: Annotated[str, Field(min_length=1)]
    """Its name, unique."""
    from_: Annotated[str, Field(alias="from", min_length=1)]
    """The node of its sources."""
    to: Annotated[str, Field(min_length=1)]
    """The node of its destinations."""
    via: list[str] = empty_list()
    """Nodes that the route passes, in this order."""
    weight: Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)] = 1.0
    """Its part of a group's flows, or of a group's rate: in proportion to the weights of all
    classes of the group."""


class GraphNode(Table):
    """Where a node is. Links alone say which nodes there are; this is for pictures."""

    name: Annotated[str, Field(min_length=1)]
    """Its name, as links have it."""
    latitude: Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False, examples=[59.91])]
    """Degrees; the south is negative."""
    longitude: Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False, examples=[10.75])]
    """Degrees; the west is negative."""


class Gravity(Table):
    """A traffic matrix by the gravity model: the demand from one node to another is in proportion
    to the product of their masses."""

    gravity: Annotated[str, Field(min_length=1)]
    """The mass of a node: the name of a number that the file has at its nodes, or "capacity", the
    sum of the rates of the links that leave the node."""
    pairs: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Only so many pairs of nodes, those with the largest demands; by default all."""


class Graph(Table):
    """Any directed graph, also from a file."""

    kind: Literal["graph"]
    file: Annotated[str, Field(min_length=1)] | None = None
    """The name of a file with nodes and links: GraphML, or lines of two nodes and a latency. Where
    a scenario is read from a file, its links are added to ``links``."""
    matrix: Accepts[str | Gravity | None, str | Gravity | dict[str, Any] | None] = by_default(None)
    """A traffic matrix: the name of a CSV file, or a gravity model. Where a scenario is read from a
    file, its pairs of nodes are added to ``classes``."""
    links: Accepts[list[GraphLink], list[GraphLink] | list[dict[str, Any]]] = by_default([])
    """The links. One that has the name of a link of the file changes that link."""
    classes: Accepts[list[GraphClass], list[GraphClass] | list[dict[str, Any]]] = by_default([])
    """The classes of flows."""
    nodes: Accepts[list[GraphNode], list[GraphNode] | list[dict[str, Any]]] = by_default([])
    """Where nodes are on the map of the network. Where a scenario is read from a file, those that
    have coordinates in it are added."""
    rate: Accepts[PositiveRate | None, Rate | str | None] = by_default(None)
    """Capacity of the links that have no rate of their own."""
    delay: Accepts[Duration | None, Duration | str | None] = by_default(None)
    """Propagation delay of the links that have none of their own."""
    buffer: Accepts[DefaultBuffer | None, Packets | Size | Duration | str | None] = by_default(None)
    """Size of the queue of the links that have no buffer of their own, also as the time in which a
    link sends it; by default they are wires."""
    aqm: Accepts[Aqm | None, Aqm | str | Keys | None] = by_default(None)
    """The AQM of the links with a buffer that have none of their own; by default droptail."""
    queues: Literal["all", "bottlenecks"] = "all"
    """Which links have a queue that packets pass. all: those with a buffer. bottlenecks: only those
    of them that are predicted to be busy. For the others there is a model: a constant delay, with
    the mean wait in it, and neither losses nor marks."""
    bottleneck_from: Annotated[float, Field(gt=0, le=0.95, allow_inf_nan=False)] = 0.8
    """With queues = "bottlenecks", the predicted utilization from which a link is one."""
    upstream_from: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.4
    """With queues = "bottlenecks", the predicted utilization from which a link right before a
    bottleneck has its queue too. 1: none has. With fewer such links a run takes less time, and the
    goodputs of single classes differ more from those with all queues."""


Topology = Annotated[Dumbbell | ParkingLot | Star | Graph, Field(discriminator="kind")]
