"""What a script says, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


class ScriptError(Exception):
    """A script that cannot be read: its line, and what was found and expected there."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


class NotModelled(Exception):
    """A script asks for what a model of congestion control has not: its line, and what it is."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        super().__init__(reason)


@dataclass(frozen=True)
class When:
    """When an event happens or is expected, s."""

    kind: Literal["absolute", "relative", "any"]
    earliest: float = 0.0
    """Since the start of the script, or since the previous event."""
    latest: float | None = None
    """The end of a range in which a segment may leave, on the same scale."""


@dataclass(frozen=True)
class Packet:
    """A TCP segment that arrives or must leave. Sequence numbers are relative, in bytes."""

    line: int
    when: When
    arrives: bool
    flags: str
    start: int
    end: int
    ack: int | None
    window: int | None
    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    sack: Sequence[tuple[int, int]] = ()
    timestamp: tuple[int, int] | None = None
    """TSval and TSecr, if it has timestamps."""
    counters: tuple[int, int, int] | None = None
    """AccECN's counters of bytes with ECT(0), CE and ECT(1), if it has the option."""
    unknown_option: str | None = None
    """An option that is not one of these."""
    ecn: str | None = None
    """What the IP header must say: ect0, ect1, ce, noecn; None if anything will do."""

    @property
    def ace(self) -> int:
        """The flags AE, CWR and ECE as a number (RFC 9768, section 3.1), which a script may give as
        letters or as a digit."""
        digits = [each for each in self.flags if each.isdigit()]
        if digits:
            return int(digits[0])
        return 4 * ("A" in self.flags) + 2 * ("W" in self.flags) + ("E" in self.flags)

    @property
    def length(self) -> int:
        """Bytes of data."""
        return self.end - self.start


@dataclass(frozen=True)
class Call:
    """A system call: its name, its arguments as text, and what it returns."""

    line: int
    when: When
    name: str
    arguments: Sequence[str]
    result: str


@dataclass(frozen=True)
class Assertions:
    """A block of Python that asserts something of tcp_info."""

    line: int
    when: When
    source: str


@dataclass(frozen=True)
class Command:
    """A block of shell commands. It is read for sysctls, and never executed."""

    line: int
    when: When
    source: str


Event = Packet | Call | Assertions | Command


@dataclass(frozen=True)
class Script:
    """A whole script."""

    tolerance: float
    """By how much the time of a segment may differ, s."""
    options: Sequence[str]
    """Other options at its head, as ``name=value``."""
    events: Sequence[Event]
