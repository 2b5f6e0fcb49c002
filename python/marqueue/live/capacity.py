"""Capacity traces in the format of mahimahi.

Each line is a time in ms at which a packet of 1504 bytes may leave. After the last line the trace
starts again.
"""

from __future__ import annotations

from pathlib import Path

from marqueue.errors import RunError, show

BYTES = 1504


def read(path: Path) -> list[int]:
    """The times of a trace, ns. Raises RunError with the number of the first invalid line."""
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text of numbers"
        raise RunError(f"{path}: cannot be read: {reason}") from None
    times = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if not line.strip().isdecimal() or len(line) > 12:
            expected = "a time in ms, a whole number"
            raise RunError(f"{path}:{number}: got {show(line)}, expected {expected}")
        times.append(int(line) * 1_000_000)
        if len(times) > 1 and times[-2] > times[-1]:
            raise RunError(
                f"{path}:{number}: got {show(line)}, expected times that do not decrease"
            )
    if not times or times[-1] == 0:
        raise RunError(f"{path}: expected at least one time above 0 ms")
    return times


def mean_rate(times: list[int]) -> int:
    """The mean capacity of a trace, bit/s."""
    return round(len(times) * BYTES * 8 * 1e9 / times[-1])
