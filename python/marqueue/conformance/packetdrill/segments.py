"""Bytes of a script as segments of the sender."""

from __future__ import annotations

from bisect import bisect_left


class Segments:
    """Where each segment of a connection ends, in bytes.

    The sender counts segments, of which 0 is the SYN; a script counts bytes, of which the first of
    the data is 1. All segments are full but the last of what an application has written.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ends = [1]
        """By segment, one past its last byte."""

    @property
    def written(self) -> int:
        """One past the last byte that the application has written."""
        return self.ends[-1]

    def write(self, length: int, sent: int) -> int:
        """Adds data; ``sent`` is the number of segments sent, SYN included.

        A last segment that is not full and has not been sent is filled first, as in Linux. Returns
        by how many segments the data grows.
        """
        before, end = len(self.ends), self.written + length
        if len(self.ends) > sent and self.ends[-1] - self.ends[-2] < self.size:
            self.ends.pop()
        while self.ends[-1] < end:
            self.ends.append(min(self.ends[-1] + self.size, end))
        return len(self.ends) - before

    def range(self, segment: int) -> tuple[int, int]:
        """First byte, and one past the last, of a segment; of the SYN (0, 1)."""
        return (self.ends[segment - 1] if segment else 0), self.ends[segment]

    def boundary(self, byte: int) -> int | None:
        """The number of segments that end at or before a byte; None in the middle of a segment."""
        found = bisect_left(self.ends, byte)
        return found + 1 if found < len(self.ends) and self.ends[found] == byte else None
