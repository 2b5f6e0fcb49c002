"""CPUs in front of links, and the processing that they do on packets."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from marqueue.scenario.accepted_types import Accepts, Keys, by_default
from marqueue.scenario.fields import Aqm, Buffer, PacketSize, PositiveClock, Table, mistake
from marqueue.units import Clock, Cycles, Density, Packets, Rate, Size

Signal = Literal["drop", "ecn", "ecn-only"]


class Processing(Table):
    """CPU cycles that a packet needs: per bit of its size, and per packet."""

    per_bit: Accepts[Density, Density | str] = by_default(Density(0))
    """Cycles for each bit on the wire."""
    per_packet: Accepts[Cycles, Cycles | str] = by_default(Cycles(0))
    """Cycles for each packet."""
    declared: Accepts[Density | None, Density | str | None] = by_default(None)
    """Cycles per bit that queues are told instead of the actual ones."""

    def declared_density(self, packet: int) -> float:
        """Cycles per bit that queues are told for data packets of ``packet`` bytes."""
        if self.declared is not None:
            return self.declared.cycles_per_bit
        return self.per_bit.cycles_per_bit + self.per_packet.cycles / (8 * packet)


def _brief(value: object) -> object:
    """Turns a density into a table."""
    if not isinstance(value, str):
        return value
    try:
        return {"per_bit": Density.parse(value)}
    except ValueError as error:
        raise mistake(str(error)) from None


BriefProcessing = Annotated[
    Processing, BeforeValidator(_brief, json_schema_input_type=Density | Processing)
]
"""A table, or only a density."""

GivenProcessing = Processing | str | dict[str, Any]
"""The types that processing may be given in."""


class Cpu(Table):
    """A CPU with its own queue, which every packet passes before it joins the queue of the link."""

    clock: Accepts[PositiveClock, Clock | str]
    """Cycles per second of a core."""
    cores: Annotated[int, Field(ge=1, le=1024)] = 1
    """Cores that serve the queue, each one packet at a time."""
    buffer: Accepts[Buffer, Packets | Size | str]
    """Size of the queue, without packets in processing."""
    aqm: Accepts[Aqm | None, Aqm | str | Keys | None] = by_default(None)
    """The AQM: its name, or a table with its name and parameters; by default droptail. An AQM
    that counts bytes sent counts cycles here, as bytes of the mean density of the groups."""
    signal: Signal = "ecn"
    """How a mark reaches the sender, as at a link."""
    packet: Accepts[PacketSize | None, Size | str | None] = by_default(None)
    """Usual size of a data packet, as at a link."""
    processing: Accepts[
        dict[str, BriefProcessing],
        dict[str, Processing] | dict[str, str] | dict[str, GivenProcessing],
    ] = by_default({})
    """Cycles that packets need here, by group of traffic, in place of those that the group
    gives."""
    learning: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Weight of a new measurement in the cycles per bit that the queue learns; by default it does
    not measure and uses what groups declare."""
    trace: bool = False
    """Record every packet that arrives, is marked, is lost or departs."""


def work(processing: Processing | None, packet: int) -> dict[str, Any]:
    """The work of a group in the plan; ``packet`` is the size of its data packets in bytes."""
    processing = processing or Processing()
    return {
        "per_bit": processing.per_bit.base,
        "per_packet": processing.per_packet.base,
        "density": processing.declared_density(packet),
    }


def nominal_rate(cpu: Cpu, densities: list[float]) -> int:
    """Bits per second that a CPU processes at the mean of all densities above zero."""
    busy = [density for density in densities if density > 0]
    mean = sum(busy) / len(busy) if busy else 1.0
    return min(max(round(cpu.clock.base * cpu.cores / mean), 1), Rate.largest)
