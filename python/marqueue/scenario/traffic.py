"""The tables of [[traffic]]."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from marqueue.errors import show
from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.cpu import BriefProcessing, GivenProcessing
from marqueue.scenario.fields import (
    Dscp,
    PacketSize,
    PositiveDuration,
    PositiveFrequency,
    PositivePackets,
    PositiveRate,
    RateLaw,
    Table,
    mistake,
)
from marqueue.units import Duration, Frequency, Rate, Size
from marqueue.units import Packets as NumberOfPackets

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
    direction: Literal["forward", "reverse"] | None = None
    """reverse: its data takes the way back of its classes, acknowledgements the way there; by
    default forward."""
    start: Accepts[Duration, Duration | str] = by_default(Duration(0))
    """When it starts."""
    stop: Accepts[Duration | None, Duration | str | None] = by_default(None)
    """When it stops sending anything new; by default never."""
    dscp: Accepts[Dscp, str | int] = by_default("DF")
    """Code point of its packets and of their acknowledgements."""
    processing: Accepts[BriefProcessing | None, GivenProcessing | None] = by_default(None)
    """What its packets and their acknowledgements take of each CPU on their way: a density such as
    "2 cycles/bit", or a table; by default nothing."""


class Tcp(Group):
    """TCP flows, spread evenly over the classes, that start together."""

    kind: Literal["tcp"]
    count: Count = 1
    """How many flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each starts at a random time up to this much later."""
    size: Accepts[PositivePackets | None, NumberOfPackets | str | None] = by_default(None)
    """What each sends; by default without end."""
    transport: Name = "default"
    """Which table of [transport] holds its settings."""
    trace: bool = False
    """Record every change of cwnd, ssthresh, round-trip time and timeout."""
    sample_cwnd: bool = False
    """Record the sum of the congestion windows of the group, at every sample, and how much each
    varies."""
    write: Accepts[PositivePackets | None, NumberOfPackets | str | None] = by_default(None)
    """How much its application writes at a time; by default all is at hand from the start."""
    every: Accepts[PositiveDuration | None, Duration | str | None] = by_default(None)
    """The mean time between two writes, of which the first is at the start."""
    gaps: Literal["constant", "exponential"] | None = None
    """How the times between writes are distributed; by default constant."""

    @model_validator(mode="after")
    def _write_and_every(self) -> Self:
        if (self.write is None) != (self.every is None):
            raise mistake("got one of write and every, expected both, or none for data at hand")
        if self.gaps is not None and self.write is None:
            raise mistake(f'got gaps = "{self.gaps}" without write and every, expected all three')
        return self


class Poisson(Group):
    """TCP flows that arrive as a Poisson process, each on a random class."""

    kind: Literal["poisson"]
    rate: Accepts[PositiveFrequency, Frequency | str]
    """How many flows arrive per second."""
    size: Accepts[PositivePackets, NumberOfPackets | str]
    """What each sends, in the mean."""
    sizes: Literal["constant", "pareto"] = "constant"
    """How sizes are distributed."""
    shape: Annotated[float, Field(gt=1, le=1000)] | None = None
    """Of Pareto sizes, and only of these: the chance to exceed x falls as x to the power of minus
    this."""
    transport: Name = "default"
    """Which table of [transport] holds its settings."""

    @model_validator(mode="after")
    def _sizes_and_shape(self) -> Self:
        if (self.sizes == "pareto") != (self.shape is not None):
            raise mistake(
                f"got sizes = {show(self.sizes)} and shape = {show(self.shape)}, expected a shape "
                'with sizes = "pareto", and only there'
            )
        return self


class Cbr(Group):
    """UDP flows of constant rate, spread evenly over the classes."""

    kind: Literal["cbr"]
    rate: Accepts[PositiveRate, Rate | str]
    """What each flow sends: together they send ``count`` times as much."""
    packet: Accepts[PacketSize, Size | str]
    """Size of a packet on the wire."""
    count: Count = 1
    """How many flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each starts at a random time up to this much later."""


class Paced(Group):
    """Flows controlled by rate, spread evenly over the classes: each sends packets at even
    distances and repeats none; a law moves the rate by what the receiver reports lost or marked, or
    by what routers have written into packets."""

    kind: Literal["paced"]
    control: Accepts[RateLaw, RateLaw | str | Keys] = by_default(RateLaw())
    """The rate law: its name, or a table with its name and parameters; by default aimd."""
    rate: Accepts[PositiveRate, Rate | str]
    """With what each flow starts."""
    packet: Accepts[PacketSize, Size | str] = by_default(Size(1000))
    """Size of a packet on the wire; of laws that listen to routers it has 20 bytes for these."""
    ecn: bool = False
    """Are its packets ECN-capable?"""
    count: Count = 1
    """How many flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each starts at a random time up to this much later."""
    trace: bool = False
    """Record every change of the rate and of the price that it obeys."""


class Packets(Group):
    """Packets that arrive as a Poisson process, spread evenly over the classes: M/M/1, M/D/1 and
    M/G/1."""

    kind: Literal["packets"]
    rate: Accepts[PositiveFrequency, Frequency | str]
    """How many packets arrive per second, over all classes."""
    packet: Accepts[PacketSize, Size | str]
    """Mean size of a packet on the wire."""
    sizes: Literal["constant", "exponential", "hyperexponential"] = "constant"
    """How sizes are distributed. hyperexponential: one of two exponentials, each of which brings
    half of all bytes."""
    scv: Annotated[float, Field(ge=1, le=1000)] | None = None
    """Squared coefficient of variation of hyperexponential sizes, and only of these."""


Traffic = Annotated[Tcp | Poisson | Cbr | Paced | Packets, Field(discriminator="kind")]

TrafficGroups = (
    list[Group]
    | list[Tcp]
    | list[Poisson]
    | list[Cbr]
    | list[Paced]
    | list[Packets]
    | list[Traffic]
    | list[dict[str, Any]]
)
"""Groups of traffic as they may be given."""


def group_names(tables: Iterable[Traffic]) -> list[str]:
    """The name that each group was given, or its kind; unnamed ones of a kind are numbered from the
    second on."""
    unnamed: Counter[str] = Counter()
    names = []
    for table in tables:
        if table.name is not None:
            names.append(table.name)
            continue
        unnamed[table.kind] += 1
        number = unnamed[table.kind]
        names.append(table.kind if number == 1 else f"{table.kind} {number}")
    return names
