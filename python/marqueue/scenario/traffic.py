"""The tables of [[traffic]]."""

from typing import Annotated, Literal

from pydantic import Field

from marqueue.scenario.fields import (
    Dscp,
    PacketSize,
    PositiveFrequency,
    PositivePackets,
    PositiveRate,
    Table,
)
from marqueue.units import Duration

Name = Annotated[str, Field(min_length=1)]
GroupName = Annotated[str, Field(pattern="^[^/]+$")]
"""Without the slash that sets it apart from the name of a class."""
Classes = Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Group(Table):
    """What every group of flows has."""

    name: GroupName | None = None
    """Its name, unique; by default its kind."""
    classes: Classes | None = None
    """The classes of the topology that it uses; by default all."""
    start: Duration = Duration(0)
    """When it starts."""
    stop: Duration | None = None
    """When it stops sending anything new; by default never."""
    dscp: Dscp = "DF"
    """Code point of its packets and of their acknowledgements."""


class Tcp(Group):
    """TCP flows, spread evenly over the classes, that start together."""

    kind: Literal["tcp"]
    count: Count = 1
    """How many flows."""
    jitter: Duration = Duration(10**9)
    """Each starts at a random time up to this much later."""
    size: PositivePackets | None = None
    """What each sends; by default without end."""
    transport: Name = "default"
    """Which table of [transport] holds its settings."""
    trace: bool = False
    """Record every change of cwnd and ssthresh."""


class Poisson(Group):
    """TCP flows of one size that arrive as a Poisson process, each on a random class."""

    kind: Literal["poisson"]
    rate: PositiveFrequency
    """How many flows arrive per second."""
    size: PositivePackets
    """What each sends."""
    transport: Name = "default"
    """Which table of [transport] holds its settings."""


class Cbr(Group):
    """UDP flows of constant rate, spread evenly over the classes."""

    kind: Literal["cbr"]
    rate: PositiveRate
    """What each sends."""
    packet: PacketSize
    """Size of a packet on the wire."""
    count: Count = 1
    """How many flows."""
    jitter: Duration = Duration(10**9)
    """Each starts at a random time up to this much later."""


class Packets(Group):
    """Packets that arrive as a Poisson process, spread evenly over the classes: M/M/1 and M/D/1."""

    kind: Literal["packets"]
    rate: PositiveFrequency
    """How many packets arrive per second, over all classes."""
    packet: PacketSize
    """Mean size of a packet on the wire."""
    sizes: Literal["constant", "exponential"] = "constant"
    """How sizes are distributed."""


Traffic = Annotated[Tcp | Poisson | Cbr | Packets, Field(discriminator="kind")]
