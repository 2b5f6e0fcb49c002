"""The tables of [[traffic]]."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from marqueue.errors import show
from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.cpu import BriefProcessing, GivenProcessing
from marqueue.scenario.fields import (
    Dscp,
    MediaControl,
    PacketSize,
    PositiveDuration,
    PositiveFrequency,
    PositivePackets,
    PositiveRate,
    QuicSize,
    RateLaw,
    Table,
    mistake,
)
from marqueue.scenario.recording import RecordedPackets, Recording
from marqueue.units import Duration, Frequency, Rate, Size
from marqueue.units import Packets as NumberOfPackets

Name = Annotated[str, Field(min_length=1)]
Rates = list[str] | list[Rate] | list[Rate | str]
GroupName = Annotated[str, Field(pattern="^[^/]+$")]
"""A name without slash, which separates it from the name of a class."""
Classes = Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]


class Group(Table):
    """The keys of every group of flows."""

    name: GroupName | None = None
    """Its name, unique; by default its kind."""
    classes: Classes | None = None
    """The classes of the topology that it uses; by default all."""
    direction: Literal["forward", "reverse"] | None = None
    """reverse: its data takes the reverse route of its classes, its acknowledgements the forward
    one; by default forward."""
    start: Accepts[Duration, Duration | str] = by_default(Duration(0))
    """When it starts."""
    stop: Accepts[Duration | None, Duration | str | None] = by_default(None)
    """When it stops sending new data; by default never."""
    dscp: Accepts[Dscp, str | int] = by_default("DF")
    """Code point of its packets and their acknowledgements."""
    processing: Accepts[BriefProcessing | None, GivenProcessing | None] = by_default(None)
    """CPU cycles that its packets and their acknowledgements need at each CPU: a density such as
    "2 cycles/bit", or a table; by default none."""


class Tcp(Group):
    """TCP flows, spread evenly over the classes, that start together."""

    kind: Literal["tcp"]
    count: Count = 1
    """Number of flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each flow starts at a random time up to this much later."""
    size: Accepts[PositivePackets | None, NumberOfPackets | str | None] = by_default(None)
    """Size of each flow; by default unlimited."""
    transport: Name = "default"
    """The table of [transport] with its settings."""
    trace: bool = False
    """Record every change of cwnd, ssthresh, round-trip time and timeout."""
    sample_cwnd: bool = False
    """Record the sum of the group's congestion windows at every sample, and their variances."""
    write: Accepts[PositivePackets | None, NumberOfPackets | str | None] = by_default(None)
    """Amount that the application writes at a time; by default all data is there from the start."""
    every: Accepts[PositiveDuration | None, Duration | str | None] = by_default(None)
    """Mean time between two writes; the first is at the start."""
    gaps: Literal["constant", "exponential"] | None = None
    """Distribution of the times between writes; by default constant."""
    first: Accepts[PositivePackets | None, NumberOfPackets | str | None] = by_default(None)
    """Amount that the application writes first, at the start; by default as much as later."""
    first_lasts: Accepts[PositiveDuration | None, Duration | str | None] = by_default(None)
    """Time from that to the next write."""

    @model_validator(mode="after")
    def _write_and_every(self) -> Self:
        if (self.write is None) != (self.every is None):
            raise mistake("got one of write and every, expected both, or neither")
        if self.gaps is not None and self.write is None:
            raise mistake(f'got gaps = "{self.gaps}" without write and every, expected all three')
        if (self.first is None) != (self.first_lasts is None):
            raise mistake("got one of first and first_lasts, expected both, or neither")
        if self.first is not None and self.write is None:
            raise mistake("got first without write and every, expected all of them")
        return self


class Poisson(Group):
    """TCP flows that arrive as a Poisson process, each in a random class."""

    kind: Literal["poisson"]
    rate: Accepts[PositiveFrequency, Frequency | str]
    """Mean number of flows that arrive per second."""
    size: Accepts[PositivePackets, NumberOfPackets | str]
    """Mean size of a flow."""
    sizes: Literal["constant", "pareto"] = "constant"
    """Distribution of sizes."""
    shape: Annotated[float, Field(gt=1, le=1000)] | None = None
    """Shape of Pareto sizes, required for these: the probability of more than x falls as x to the
    power of -shape."""
    transport: Name = "default"
    """The table of [transport] with its settings."""

    @model_validator(mode="after")
    def _sizes_and_shape(self) -> Self:
        if (self.sizes == "pareto") != (self.shape is not None):
            raise mistake(
                f"got sizes = {show(self.sizes)} and shape = {show(self.shape)}, expected a shape "
                'with sizes = "pareto", and only there'
            )
        return self


EcnField = Literal["not-ect", "ect", "ect1"]


class Cbr(Group):
    """UDP flows of constant rate, spread evenly over the classes."""

    kind: Literal["cbr"]
    rate: Accepts[PositiveRate, Rate | str]
    """What each flow sends; all of them send ``count`` times as much."""
    ecn: EcnField = "not-ect"
    """ECN field of its packets, whose sender reacts to no mark. ect: ECT(0). ect1: ECT(1), which
    asks for the L4S service (RFC 9331)."""
    packet: Accepts[PacketSize, Size | str]
    """Size of a packet on the wire."""
    count: Count = 1
    """Number of flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each flow starts at a random time up to this much later."""


class Recorded(Group):
    """UDP flows, spread evenly over the classes, that each send the packets of a recording: what
    once was in a network, with its sizes and at its times, whatever the network does now."""

    kind: Literal["recorded"]
    packets: Accepts[RecordedPackets, Recording]
    """Time after the start and size on the wire of each packet, in order of time; in a file also
    the name of a capture (pcap, pcapng) or qlog."""
    ecn: EcnField = "not-ect"
    """ECN field of the packets, whose sender reacts to no mark. ect: ECT(0). ect1: ECT(1), which
    asks for the L4S service (RFC 9331)."""
    count: Count = 1
    """Number of flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(0))
    """Each flow starts at a random time up to this much later."""

    @property
    def mean_packet(self) -> int:
        """The mean size of a packet on the wire, bytes."""
        return round(sum(size.base for _, size in self.packets) / len(self.packets))


class Paced(Group):
    """Rate-controlled flows, spread evenly over the classes. Each sends packets at even intervals
    and retransmits none. A law sets the rate by what the receiver reports lost or marked, or by
    prices that routers write into packets."""

    kind: Literal["paced"]
    control: Accepts[RateLaw, RateLaw | str | Keys] = by_default(RateLaw())
    """The rate law: its name, or a table with its name and parameters; by default aimd."""
    rate: Accepts[PositiveRate, Rate | str]
    """Initial rate of each flow."""
    packet: Accepts[PacketSize, Size | str] = by_default(Size(1000))
    """Size of a packet on the wire. Under laws that follow prices, 20 bytes of it carry the
    price."""
    ecn: bool = False
    """Whether its packets are ECN-capable."""
    count: Count = 1
    """Number of flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each flow starts at a random time up to this much later."""
    trace: bool = False
    """Record every change of the rate and of the price that it follows."""


def _no_bbr(value: object) -> object:
    if value in ("bbr", "bbr3"):
        expected = 'expected "cubic" or "new_reno": the BBR of the library draws random numbers'
        raise mistake(f'got "{value}", {expected} without a seed, so no run could be repeated')
    return value


class Quic(Group):
    """Downloads by QUIC, spread evenly over the classes: connections of a QUIC library, whose
    packets the simulator carries. A client asks a server for data; the server sends it in one
    stream."""

    kind: Literal["quic"]
    library: Literal["quinn", "noq"] = "quinn"
    """The library: quinn (its crate quinn-proto) or noq (noq-proto)."""
    control: Annotated[Literal["cubic", "new_reno"], BeforeValidator(_no_bbr)] = "cubic"
    """Congestion control of the server, as the library has it."""
    ecn: bool = True
    """Whether its packets are ECN-capable: ECT(0)."""
    packet: Accepts[PacketSize, Size | str] = by_default(Size(1228))
    """Size of a full packet on the wire, from 1228 bytes (1200 of UDP's payload) to 1500. There is
    no discovery of the path's MTU."""
    count: Count | None = None
    """Number of flows; by default 1, unless they arrive at random."""
    arrivals: Accepts[PositiveFrequency | None, Frequency | str | None] = by_default(None)
    """Mean number of flows that arrive per second, as a Poisson process; by default all of them
    start together."""
    jitter: Accepts[Duration | None, Duration | str | None] = by_default(None)
    """Each flow starts at a random time up to this much later; by default 1 s, and none where they
    arrive at random."""
    size: Accepts[QuicSize | None, Size | str | None] = by_default(None)
    """Data of each flow, or its mean; by default unlimited."""
    sizes: Literal["constant", "pareto"] = "constant"
    """Distribution of sizes."""
    shape: Annotated[float, Field(gt=1, le=1000)] | None = None
    """Shape of Pareto sizes, required for these: the probability of more than x falls as x to the
    power of -shape."""
    rate: Accepts[PositiveRate | None, Rate | str | None] = by_default(None)
    """Data that the server's application has per second, a full packet's at a time, such as video;
    by default all of it is there when it is asked for. What the network does not carry waits."""
    trace: bool = False
    """Record every change of cwnd, ssthresh and smoothed round-trip time."""
    sample_cwnd: bool = False
    """Record the sum of the group's congestion windows at every sample, and their variances."""

    @model_validator(mode="after")
    def _arrivals_and_sizes(self) -> Self:
        if self.arrivals is not None:
            if self.count is not None or self.jitter is not None:
                raise mistake("got arrivals with count or jitter, expected one of both")
            if self.size is None:
                raise mistake("got arrivals without size, expected both")
        if (self.sizes == "pareto") != (self.shape is not None):
            raise mistake(
                f"got sizes = {show(self.sizes)} and shape = {show(self.shape)}, expected a shape "
                'with sizes = "pareto", and only there'
            )
        if self.sizes == "pareto" and self.size is None:
            raise mistake('got sizes = "pareto" without size, expected both')
        return self


class Media(Group):
    """Real-time video, spread evenly over the classes: an encoder makes frames, a sender paces
    their packets, and a receiver reports what came, by which a control sets the encoder's rate.
    Nothing is retransmitted."""

    kind: Literal["media"]
    control: Accepts[MediaControl, MediaControl | str | Keys] = by_default(MediaControl())
    """The control of the rate: its name, or a table with its name and parameters; by default
    scream."""
    max_rate: Accepts[PositiveRate, Rate | str]
    """The highest rate of the encoder."""
    min_rate: Accepts[PositiveRate, Rate | str] = by_default(Rate(150_000))
    """The lowest rate of the encoder, with which it begins."""
    ladder: Accepts[list[PositiveRate], Rates] = by_default([])
    """The only rates that the encoder has, increasing, from min_rate to max_rate. A change of them
    takes a key frame. By default it has all rates."""
    frame_rate: Accepts[PositiveFrequency, Frequency | str] = by_default(Frequency(30 * 10**9))
    """Frames a second, 1 to 1000."""
    deviation: Annotated[float, Field(ge=0, le=1)] = 0.15
    """Scale of the Laplace distribution of frame sizes, as a share of their mean."""
    key_frames: Accepts[PositiveDuration | None, Duration | str | None] = by_default(None)
    """Time between key frames; by default one is made only at the start and after losses."""
    key_size: Annotated[float, Field(ge=1, le=100)] = 4.0
    """Size of a key frame, as a multiple of that of others."""
    ecn: EcnField | None = None
    """ECN field of its packets. ect1: ECT(1), which asks for the L4S service (RFC 9331). ect:
    ECT(0). By default ect1, and not-ect with a control that does not answer marks."""
    packet: Accepts[PacketSize, Size | str] = by_default(Size(1200))
    """Size of a full packet on the wire, 100 to 1500 bytes."""
    count: Count = 1
    """Number of flows."""
    jitter: Accepts[Duration, Duration | str] = by_default(Duration(10**9))
    """Each flow starts at a random time up to this much later."""
    trace: bool = False
    """Record every change of rate, window and queueing delay."""


class Packets(Group):
    """Packets that arrive as a Poisson process, spread evenly over the classes: M/M/1, M/D/1 and
    M/G/1."""

    kind: Literal["packets"]
    rate: Accepts[PositiveFrequency, Frequency | str]
    """Mean number of packets that arrive per second, over all classes."""
    packet: Accepts[PacketSize, Size | str]
    """Mean size of a packet on the wire."""
    sizes: Literal["constant", "exponential", "hyperexponential"] = "constant"
    """Distribution of sizes. hyperexponential: one of two exponential distributions, each with half
    of all bytes."""
    scv: Annotated[float, Field(ge=1, le=1000)] | None = None
    """Squared coefficient of variation of hyperexponential sizes, required for these."""
    ecn: EcnField = "not-ect"
    """ECN field of the packets, whose sender reacts to no mark. ect: ECT(0). ect1: ECT(1), which
    asks for the L4S service (RFC 9331)."""


Traffic = Annotated[
    Tcp | Poisson | Cbr | Recorded | Paced | Quic | Media | Packets, Field(discriminator="kind")
]

TrafficGroups = (
    list[Group]
    | list[Tcp]
    | list[Poisson]
    | list[Cbr]
    | list[Recorded]
    | list[Paced]
    | list[Quic]
    | list[Media]
    | list[Packets]
    | list[Traffic]
    | list[dict[str, Any]]
)
"""The types that groups of traffic may be given in."""


def group_names(tables: Iterable[Traffic]) -> list[str]:
    """The name of each group: the given one, or its kind; unnamed groups of one kind are numbered
    from the second on."""
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
