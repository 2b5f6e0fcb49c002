"""Packets of a recording, which traffic of kind ``recorded`` sends again.

In a scenario each packet is a text with its time after the start and its size on the wire, such as
"30 ms, 700 B". Where a scenario is read from a file, the packets of a capture (pcap, pcapng) or
qlog replace the name of its file: the IP packets of the capture with the sizes that they had, or
the QUIC packets that the qlog says were received, with headers of UDP and IPv4.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails

from marqueue.errors import Problem, ScenarioError, show
from marqueue.scenario.fields import mistake
from marqueue.scenario.recorded import LARGEST_FILE, arrivals, is_capture, is_recorded
from marqueue.units import Duration, Size

KEY = "packets"
MOST_PACKETS = 1_000_000
"""Packets of a recording."""
HEADERS = 28
"""Bytes of UDP and IPv4 in front of a QUIC packet."""
_EXPECTED = 'expected a time and a size such as "30 ms, 700 B"'
_TIME, _SIZE = (each.dimension.pattern.strip("^$") for each in (Duration, Size))
_SCHEMA = {
    "oneOf": [
        {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{_TIME},{_SIZE}$"},
            "examples": [["0 s, 120 B", "16.7 ms, 118 B"]],
        },
        {"type": "string"},
    ],
}
"""The JSON Schema: packets, or in a file the name of a file with them."""

Packet = tuple[Duration, Size]
"""The time of a packet after the start, and its size on the wire."""


def _read(value: object) -> tuple[Packet, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise mistake(f"got {show(value)}, expected a list of packets")
    if not value:
        raise mistake("got none, expected at least one packet")
    packets: list[Packet] = []
    problems: list[InitErrorDetails] = []
    for i, each in enumerate(value):
        try:
            packets.append(_packet(each))
        except ValueError as error:
            problems.append(InitErrorDetails(type=mistake(str(error)), loc=(i,), input=None))
            continue
        if len(packets) > 1 and packets[-1][0] < packets[-2][0]:
            message = f"got {show(str(packets[-1][0]))}, expected times that do not decrease"
            problems.append(InitErrorDetails(type=mistake(message), loc=(i,), input=None))
    if problems:
        raise ValidationError.from_exception_data("packets", problems)
    return tuple(packets)


def _packet(value: object) -> Packet:
    match value:
        case str(text):
            after, comma, size = text.partition(",")
            if not comma:
                raise ValueError(f"got {show(text)}, {_EXPECTED}")
            return Duration.parse(after.strip()), Size.parse(size.strip())
        case [Duration() as time, Size() as bytes_]:
            return time, bytes_
        case [str(after), str(size)]:
            return Duration.parse(after), Size.parse(size)
    raise ValueError(f"got {show(value)}, {_EXPECTED}")


def _write(packets: tuple[Packet, ...]) -> list[str]:
    return [f"{after}, {size}" for after, size in packets]


RecordedPackets = Annotated[
    tuple[Packet, ...],
    PlainValidator(_read),
    PlainSerializer(_write),
    WithJsonSchema(_SCHEMA),
]
"""The packets of a recording, in order of time."""

Recording = list[str] | list[tuple[str, str]] | list[tuple[Duration, Size]]
"""The types that they may be given in."""


def read(file: Path) -> list[str]:
    """The packets of a capture or qlog, as in a scenario. The first is at 0.

    Raises OSError; ValueError, which says what is wrong with the file and where.
    """
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(f" has {file.stat().st_size} bytes, expected at most {LARGEST_FILE}")
    content = file.read_bytes()
    if not is_recorded(content):
        raise ValueError(" is neither a capture (pcap, pcapng) nor a qlog")
    headers = 0 if is_capture(content) else HEADERS
    found = [(time, size + headers) for time, size in arrivals(content) if size > 0]
    if not 0 < len(found) <= MOST_PACKETS:
        raise ValueError(f" has {len(found)} packets, expected 1 to {MOST_PACKETS}")
    return [f"{time - found[0][0]} ns, {size} B" for time, size in found]


def with_recordings(data: dict[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    """The scenario with the packets of every ``packets = "FILE"`` of its traffic.

    ``folder`` is that of the scenario file. Raises ScenarioError if a file cannot be read or has
    another format.
    """
    groups = data.get("traffic")
    if not isinstance(groups, list):
        return data

    def replaced(number: int, group: Any) -> Any:
        if not isinstance(group, Mapping) or not isinstance(name := group.get(KEY), str):
            return group
        try:
            return {**group, KEY: read(folder / name)}
        except OSError as error:
            message = f"{show(name)} cannot be read: {error.strerror}"
        except ValueError as error:
            message = f"{name}:{error}"
        raise ScenarioError([Problem(f"traffic.{number}.{KEY}", message)], origin)

    return {**data, "traffic": [replaced(i, group) for i, group in enumerate(groups)]}
