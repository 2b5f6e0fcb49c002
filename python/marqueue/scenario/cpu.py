"""CPUs in front of links, and the processing that they do on packets."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.fields import Aqm, Buffer, PacketSize, PositiveClock, Table, mistake
from marqueue.units import Clock, Cycles, Density, Packets, Rate, Size

Signal = Literal["drop", "ecn", "ecn-only"]


class Processing(Table):
    """What a packet takes of a CPU: cycles per bit of its size, and cycles whatever its size."""

    per_bit: Accepts[Density, Density | str] = by_default(Density(0))
    """Cycles for each bit on the wire."""
    per_packet: Accepts[Cycles, Cycles | str] = by_default(Cycles(0))
    """Cycles for each packet."""
    declared: Accepts[Density | None, Density | str | None] = by_default(None)
    """What queues are told, in cycles per bit, where that is not the truth."""

    def told(self, packet: int) -> float:
        """Cycles per bit that queues are told of data packets of so many bytes."""
        if self.declared is not None:
            return self.declared.cycles_per_bit
        return self.per_bit.cycles_per_bit + self.per_packet.cycles / (8 * packet)


def _brief(value: object) -> object:
    """A density alone."""
    if not isinstance(value, str):
        return value
    try:
        return {"per_bit": Density.parse(value)}
    except ValueError as error:
        raise mistake(str(error)) from None


BriefProcessing = Annotated[
    Processing, BeforeValidator(_brief, json_schema_input_type=Density | Processing)
]
"""A table, or a density alone."""

GivenProcessing = Processing | str | dict[str, Any]
"""Processing as it may be given."""


class Cpu(Table):
    """A CPU with a queue of its own, which every packet passes before it joins the link's."""

    clock: Accepts[PositiveClock, Clock | str]
    """Cycles per second of a core."""
    cores: Annotated[int, Field(ge=1, le=1024)] = 1
    """Cores that serve the one queue, each a packet at a time."""
    buffer: Accepts[Buffer, Packets | Size | str]
    """How much may wait, what is being processed not counted."""
    aqm: Accepts[Aqm | None, Aqm | str | Keys | None] = by_default(None)
    """The AQM: its name, or a table with its name and parameters; by default droptail. What counts
    bytes sent counts cycles here, in bytes of the mean density of the groups that pass."""
    signal: Signal = "ecn"
    """How a mark reaches the sender, as at a link."""
    packet: Accepts[PacketSize | None, Size | str | None] = by_default(None)
    """Usual size of a data packet, as at a link."""
    processing: Accepts[
        dict[str, BriefProcessing],
        dict[str, Processing] | dict[str, str] | dict[str, GivenProcessing],
    ] = by_default({})
    """What packets take here, by group of traffic, where that is not what the group says."""
    learning: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Weight of a new measurement in the cycles per bit that the queue is told; by default it is
    told what groups declare, and does not measure."""
    trace: bool = False
    """Record every packet that arrives, is marked, is lost or departs."""


def work(processing: Processing | None, packet: int) -> dict[str, Any]:
    """For the plan: what packets of a group take, whose data packets have so many bytes."""
    processing = processing or Processing()
    return {
        "per_bit": processing.per_bit.base,
        "per_packet": processing.per_packet.base,
        "density": processing.told(packet),
    }


def nominal_rate(cpu: Cpu, densities: list[float]) -> int:
    """Bits per second that a CPU processes at the mean of the densities, groups that take nothing
    left out."""
    busy = [density for density in densities if density > 0]
    mean = sum(busy) / len(busy) if busy else 1.0
    return min(max(round(cpu.clock.base * cpu.cores / mean), 1), Rate.largest)
