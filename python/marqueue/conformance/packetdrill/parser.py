"""Reads the language of packetdrill."""

from __future__ import annotations

import re
from dataclasses import replace

from marqueue.conformance.packetdrill.script import (
    Assertions,
    Call,
    Command,
    Event,
    NotModelled,
    Packet,
    Script,
    ScriptError,
    When,
)

DEFAULT_TOLERANCE = 4e-3
"""The tolerance of packetdrill on times, s."""

SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)+", re.DOTALL)
OPTION = re.compile(r"--(\w+)(?:=(\S+))?")
NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
TIME = re.compile(
    rf"(?P<any>\*)|(?P<plus>\+)?(?P<first>{NUMBER})(?:\s*~\s*\+?(?P<latest>{NUMBER}))?"
    rf"(?:\s*\.\.\.\s*(?P<until>{NUMBER}))?"
)
PACKET = re.compile(
    r"(?P<way>[<>])\s*(?:\[(?P<ecn>[^\]]*)\]\s*)?(?P<flags>[A-Z0-9.-]+)\s+"
    r"(?P<start>\d+):(?P<end>\d+)\((?P<length>\d+)\)(?:[ \t]+ack[ \t]+(?P<ack>\d+))?"
    r"(?:[ \t]+win[ \t]+(?P<window>\d+))?(?:[ \t]+urg[ \t]+\d+)?(?:[ \t]*<(?P<options>[^>]*)>)?"
)
OTHER_PACKET = re.compile(r"[<>]\s*(?:\[[^\]]*\]\s*)?(?P<kind>[a-z]\w*)[^\n]*")
CALL = re.compile(r"(?P<name>[a-z_]\w*)\s*\(")
RESULT = re.compile(r"\s*=\s*(?P<result>[^\n]*)")
CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Reader:
    """The text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def skip_space(self) -> None:
        if found := SPACE.match(self.text, self.at):
            self.at = found.end()

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
        return found

    def until(self, opening: str, closing: str) -> str:
        """The text between two brackets, of which the first is next."""
        start = self.at + len(opening)
        end = self.text.find(closing, start)
        if end < 0:
            raise ScriptError(self.line, f"{opening} has no {closing}")
        self.at = end + len(closing)
        return self.text[start:end]

    def wrong(self, expected: str) -> ScriptError:
        rest = self.text[self.at :].split("\n", 1)[0].strip()[:60]
        return ScriptError(self.line, f"got {rest!r}, expected {expected}")


def parse(text: str) -> Script:
    """The script in a text.

    Raises ScriptError if it cannot be read, NotModelled if it has packets other than TCP's.
    """
    reader = _Reader(text)
    tolerance, options = DEFAULT_TOLERANCE, []
    reader.skip_space()
    while found := reader.take(OPTION):
        name, value = found.groups()
        if name == "tolerance_usecs":
            if value is None or not value.isdigit():
                raise ScriptError(reader.line, f"got --{name}={value}, expected microseconds")
            tolerance = int(value) * 1e-6
        else:
            options.append(f"{name}={value}" if value else name)
        reader.skip_space()
    events: list[Event] = []
    while reader.at < len(reader.text):
        events.append(_event(reader))
        reader.skip_space()
    return Script(tolerance, options, events)


def _event(reader: _Reader) -> Event:
    when = When("relative")
    if found := reader.take(TIME):
        when = _when(found)
        reader.skip_space()
    line = reader.line
    if reader.text.startswith("`", reader.at):
        return Command(line, when, reader.until("`", "`"))
    if reader.text.startswith("%{", reader.at):
        return Assertions(line, when, reader.until("%{", "}%"))
    if found := reader.take(PACKET):
        return _packet(line, when, found)
    if found := reader.take(OTHER_PACKET):
        raise NotModelled(line, f"packets of {found['kind']}")
    if (found := CALL.match(reader.text, reader.at)) is None:
        raise reader.wrong("a packet, a system call, a `command` or %{ assertions }%")
    reader.at = found.end() - 1
    arguments = _arguments(reader)
    result = reader.take(RESULT)
    return Call(line, when, found["name"], arguments, result["result"].strip() if result else "")


def _when(found: re.Match[str]) -> When:
    if found["any"]:
        return When("any")
    latest = found["latest"]
    return When(
        "relative" if found["plus"] else "absolute",
        float(found["first"]),
        None if latest is None else float(latest),
    )


def _arguments(reader: _Reader) -> list[str]:
    """The arguments in the bracket that is next, split at its commas."""
    line, start, open_, parts = reader.line, reader.at + 1, [], []
    for at in range(reader.at, len(reader.text)):
        char = reader.text[at]
        if char in CLOSING:
            open_.append(CLOSING[char])
        elif open_ and char == open_[-1]:
            open_.pop()
        if (char == "," and len(open_) == 1) or not open_:
            parts.append(reader.text[start:at].strip())
            start = at + 1
        if not open_:
            reader.at = at + 1
            return parts
    raise ScriptError(line, "a bracket is not closed")


def _packet(line: int, when: When, found: re.Match[str]) -> Packet:
    start, end, length = (int(found[name]) for name in ("start", "end", "length"))
    if end - start != length:
        raise ScriptError(line, f"got {start}:{end}({length}), expected length {end - start}")
    number = {name: int(found[name]) if found[name] else None for name in ("ack", "window")}
    packet = Packet(
        line,
        when,
        found["way"] == "<",
        found["flags"],
        start,
        end,
        number["ack"],
        number["window"],
        ecn=found["ecn"],
    )
    for each in (found["options"] or "").split(","):
        packet = _with_option(packet, each.split())
    return packet


def _with_option(packet: Packet, words: list[str]) -> Packet:
    match words:
        case [] | ["nop"] | ["eol"] | ["..."]:
            return packet
        case ["mss", size] if size.isdigit():
            return replace(packet, mss=int(size))
        case ["sackOK"]:
            return replace(packet, sack_permitted=True)
        case ["wscale", shift] if shift.isdigit():
            return replace(packet, window_scale=int(shift))
        case ["sack", *blocks]:
            return replace(packet, sack=[_block(packet, block) for block in blocks])
        case ["TS", "val", value, "ecr", echo] if value.isdigit() and echo.isdigit():
            return replace(packet, timestamp=(int(value), int(echo)))
        case ["ECN", *fields]:
            return replace(packet, counters=_counters(packet, fields))
        case _:
            return replace(packet, unknown_option=words[0])


def _counters(packet: Packet, fields: list[str]) -> tuple[int, int, int] | None:
    """The counters of AccECN; None of an option that has not all three."""
    pairs = dict(zip(fields[::2], fields[1::2], strict=False))
    known = {"e0b", "ceb", "e1b"}
    if len(fields) % 2 or not set(pairs) <= known or not all(v.isdigit() for v in pairs.values()):
        raise ScriptError(packet.line, f"got ECN {' '.join(fields)}, expected e0b, ceb and e1b")
    if set(pairs) != known:
        return None
    return int(pairs["e0b"]), int(pairs["ceb"]), int(pairs["e1b"])


def _block(packet: Packet, text: str) -> tuple[int, int]:
    start, colon, end = text.partition(":")
    if not (colon and start.isdigit() and end.isdigit()):
        raise ScriptError(packet.line, f"got sack {text}, expected START:END")
    return int(start), int(end)
