"""When a link may send: delivery traces in the format of mahimahi (Netravali et al., "Mahimahi:
accurate record-and-replay for HTTP", USENIX ATC 2015, section 4).

Each line is a time in ms at which 1504 bytes may leave. After the last line the trace starts again.
A capture of packets or a qlog is made such a trace (:func:`of_arrivals`).
Where a scenario is read from a file, the times of a trace replace the name of its file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue.errors import Problem, ScenarioError, show
from marqueue.scenario.recorded import LARGEST_FILE, arrivals, is_recorded
from marqueue.units import Duration

KEY = "delivery_trace"
TRACE_SCHEMA = {
    "oneOf": [
        {
            "type": "array",
            "items": {"type": "string", "pattern": Duration.dimension.pattern},
        },
        {"type": "string"},
    ],
}
"""The JSON Schema: times, or in a file the name of a file with them."""
BYTES = 1504
"""What may leave at one time."""


def parse(text: str) -> list[int]:
    """The times of a trace, ns. Raises ValueError: the number of the first wrong line, and what is
    wrong with it; or what is wrong with all of it.
    """
    times: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if not line.strip().isdecimal() or len(line) > 12:
            expected = "a time in ms, a whole number"
            raise ValueError(f"{number}: got {show(line)}, expected {expected}")
        times.append(int(line) * 1_000_000)
        if len(times) > 1 and times[-2] > times[-1]:
            raise ValueError(f"{number}: got {show(line)}, expected times that do not decrease")
    if not times or times[-1] == 0:
        raise ValueError(" expected at least one time above 0 ms")
    return times


def of_arrivals(arrived: Sequence[tuple[int, int]]) -> list[int]:
    """The times of a trace, ns, for what arrived (times in ns, bytes).

    The time of the first arrival is 0, and 1504 bytes may leave whenever so many more have arrived.
    What is less than that at the end is left out. Raises ValueError if that leaves no time above 0.
    """
    times: list[int] = []
    total = 0
    for time, size in arrived:
        total += size
        if total // BYTES > MOST_TIMES:
            raise ValueError(f" has more than {MOST_TIMES * BYTES} bytes, expected a shorter one")
        times += [time - arrived[0][0]] * (total // BYTES - len(times))
    if not times or times[-1] == 0:
        raise ValueError(f" expected arrivals of at least {BYTES} bytes after the first")
    return times


MOST_TIMES = 2_000_000
"""Times of a trace that is made of arrivals: 3 GB."""


def read(file: Path) -> list[int]:
    """The times of a file, ns: a trace, or a capture (pcap, pcapng) or qlog of what a receiver got.

    Raises OSError, UnicodeDecodeError, or ValueError as :func:`parse`.
    """
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(f" has {file.stat().st_size} bytes, expected at most {LARGEST_FILE}")
    content = file.read_bytes()
    return (
        of_arrivals(arrivals(content)) if is_recorded(content) else parse(content.decode("ascii"))
    )


def mean_rate(times: Sequence[int]) -> int:
    """The mean capacity of a trace, bit/s."""
    return round(len(times) * BYTES * 8 * 1e9 / times[-1])


def with_traces(data: dict[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    """The scenario with the times of every ``delivery_trace = "FILE"`` of a link.

    ``folder`` is that of the scenario file. Raises ScenarioError if a file cannot be read or has
    another format.
    """

    def replaced(value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [replaced(each, f"{path}.{i}") for i, each in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        table = {key: replaced(each, f"{path}.{key}") for key, each in value.items()}
        if isinstance(name := table.get(KEY), str):
            table[KEY] = _times(folder / name, name, f"{path}.{KEY}", origin)
        return table

    if "topology" not in data:
        return data
    return {**data, "topology": replaced(data["topology"], "topology")}


def _times(file: Path, name: str, path: str, origin: str) -> list[str]:
    """The times of a file, with units."""
    try:
        return [_with_unit(time) for time in read(file)]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text of numbers"
        message = f"{show(name)} cannot be read: {reason}"
    except ValueError as error:
        message = f"{name}:{error}"
    raise ScenarioError([Problem(path, message)], origin)


def _with_unit(time: int) -> str:
    return f"{time} ns" if time % 1_000_000 else f"{time // 1_000_000} ms"
