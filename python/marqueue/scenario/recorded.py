"""When how many bytes arrived at a receiver, from what other programs recorded: captures of packets
(libpcap's format; pcapng, draft-ietf-opsawg-pcapng) and qlog of QUIC (draft-ietf-quic-qlog).

A receiver behind a link that always had packets to send shows what that link could carry.
"""

import json
import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

Arrival = tuple[int, int]
"""The time, ns, and the bytes that arrived then."""

LARGEST_FILE = 1 << 30
"""Bytes: a larger file is refused, because it is read whole."""
_LARGEST_BLOCK = 1 << 24
"""Bytes of a pcapng block or captured packet. Wireshark captures at most 2^18 of a packet."""

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""By the first four bytes: byte order, and the ns of a step of the clock."""
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_LINK_HEADERS = {0: 4, 1: 14, 101: 0, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes in front of the IP packet, by LINKTYPE: of NULL, ETHERNET, RAW, LINUX_SLL, IPV4, IPV6 and
LINUX_SLL2."""


def is_capture(content: bytes) -> bool:
    """Whether a file begins as a capture does."""
    return content[:4] in _PCAP or content[:4] == _PCAPNG


def is_recorded(content: bytes) -> bool:
    """Whether a file begins as a capture or a qlog does."""
    return is_capture(content) or content[:1] in (b"{", b"\x1e")


def arrivals(content: bytes) -> list[Arrival]:
    """What arrived, in order of time: the IP packets of a capture, or the QUIC packets that a qlog
    says were received, whose lengths are without the headers of UDP and IP.

    Raises ValueError with the place in the file and what was expected there.
    """
    if content[:4] in _PCAP:
        found = list(_pcap(content))
    elif content[:4] == _PCAPNG:
        found = list(_pcapng(content))
    else:
        found = list(_qlog(content))
    # What arrived at one time keeps the order of the file.
    return sorted(found, key=itemgetter(0))


def _ip_bytes(link: int, length: int, place: str) -> int:
    if link not in _LINK_HEADERS:
        known = "expected Ethernet, raw IP, NULL, LINUX_SLL or LINUX_SLL2"
        raise ValueError(f"{place}: got link type {link}, {known}")
    return max(length - _LINK_HEADERS[link], 0)


def _pcap(content: bytes) -> Iterator[Arrival]:
    order, step = _PCAP[content[:4]]
    if len(content) < 24:
        raise ValueError(" ends within the file header, expected 24 bytes")
    # The upper bits hold the length of a frame check sequence.
    link = struct.unpack_from(order + "I", content, 20)[0] & 0x0FFFFFFF
    at, number = 24, 1
    while at < len(content):
        place = f" packet {number}"
        if len(content) - at < 16:
            raise ValueError(f"{place}: the file ends within its header")
        seconds, fraction, captured, length = struct.unpack_from(order + "4I", content, at)
        if captured > _LARGEST_BLOCK or len(content) - at - 16 < captured:
            raise ValueError(f"{place}: the file ends within it, expected {captured} bytes")
        yield seconds * 10**9 + fraction * step, _ip_bytes(link, length, place)
        at, number = at + 16 + captured, number + 1


def _pcapng(content: bytes) -> Iterator[Arrival]:
    order, at, number = "<", 0, 1
    interfaces: list[tuple[int, int]] = []
    while at < len(content):
        place = f" block {number}"
        if content[at : at + 4] == _PCAPNG:
            # A section begins; its byte order is that of this number.
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(
                content[at + 8 : at + 12], ""
            )
            if not order:
                raise ValueError(f"{place}: expected the byte-order magic 1A2B3C4D")
            interfaces = []
        if len(content) - at < 12:
            raise ValueError(f"{place}: the file ends within its header")
        kind, size = struct.unpack_from(order + "2I", content, at)
        if size < 12 or size % 4 or size > _LARGEST_BLOCK or len(content) - at < size:
            raise ValueError(f"{place}: got a length of {size}, which its file cannot have")
        body = content[at + 8 : at + size - 4]
        if kind == 1 and len(body) >= 8:
            interfaces.append((struct.unpack_from(order + "H", body)[0], _clock(order, body[8:])))
        elif kind == 6:
            if len(body) < 20:
                raise ValueError(f"{place}: got {len(body)} bytes, expected 20 and a packet")
            interface, high, low, _, length = struct.unpack_from(order + "5I", body)
            if interface >= len(interfaces):
                raise ValueError(f"{place}: got interface {interface}, which is not described")
            link, clock = interfaces[interface]
            ticks = (high << 32) + low
            yield ticks * 10**9 // clock, _ip_bytes(link, length, place)
        at, number = at + size, number + 1


def _clock(order: str, options: bytes) -> int:
    """Steps a second of an interface's clock: its option if_tsresol, by default 10^6."""
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from(order + "2H", options, at)
        if code == 9 and size == 1 and at + 5 <= len(options):
            exponent = options[at + 4] & 0x7F
            return int(2**exponent if options[at + 4] & 0x80 else 10**exponent)
        if code == 0:
            break
        at += 4 + (size + 3) // 4 * 4
    return 10**6


_DELTAS = ("delta", "relative_to_previous_event")
_RECEIVED = "packet_received"


def _qlog(content: bytes) -> Iterator[Arrival]:
    """Events of JSON-SEQ (RFC 7464) or of a JSON text. Times are in ms."""
    now, is_delta = 0.0, False
    for place, each in _events(content):
        match each:
            case {"common_fields": {"time_format": format}}:
                is_delta = format in _DELTAS
                continue
            case {"time": int() | float() as time, "name": str(name)}:
                now = now + time if is_delta else time
            case _:
                continue
        if name.rpartition(":")[2] != _RECEIVED:
            continue
        match each:
            case {"data": {"raw": {"length": int(length)}}} if length >= 0 and 0 <= now < 1e15:
                yield round(now * 1e6), length
            case _:
                raise ValueError(f"{place}: expected data.raw.length of the packet, in bytes")


def _events(content: bytes) -> Iterator[tuple[str, Any]]:
    """Each record with its place: first what says how times are given, then the events."""
    if content[:1] == b"\x1e":
        for number, record in enumerate(content.split(b"\x1e")[1:], start=1):
            place = f" record {number}"
            each = _json(record, place)
            trace = each.get("trace") if isinstance(each, dict) else None
            yield place, trace if isinstance(trace, dict) else each
        return
    whole = _json(content, "")
    traces = whole.get("traces") if isinstance(whole, dict) else None
    match traces:
        case [dict() as trace] if isinstance(events := trace.get("events"), list):
            yield " trace 1", {"common_fields": trace.get("common_fields", {})}
            for number, each in enumerate(events, start=1):
                yield f" event {number}", each
        case _:
            raise ValueError(" expected a qlog with one trace that has events")


def _json(text: bytes, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: is not JSON: {error}") from None
