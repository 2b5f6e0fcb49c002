"""What a system call means to a transfer."""

from __future__ import annotations

from dataclasses import dataclass

from marqueue.conformance.packetdrill.script import Call, NotModelled


@dataclass(frozen=True)
class Effect:
    """The effect of a call on the sender; nothing if all is unset."""

    writes: int | None = None
    """Bytes of data."""
    closes: bool = False
    control: str | None = None
    """A congestion control by Linux's name."""
    largest_segment: int | None = None
    """TCP_MAXSEG, bytes."""


WITHOUT_EFFECT = frozenset(
    [
        "socket",
        "bind",
        "listen",
        "accept",
        "fcntl",
        "connect",
        "poll",
        "epoll_create",
        "epoll_ctl",
        "epoll_wait",
        "getsockopt",
        "ioctl",
    ]
)
"""Calls that change nothing for a sender. Their results are not compared."""

HARMLESS_OPTIONS = frozenset(
    [
        "SO_REUSEADDR",
        "SO_SNDBUF",
        "SO_RCVBUF",
        "SO_LINGER",
        "TCP_NODELAY",
        "TCP_QUICKACK",
        "SO_SNDTIMEO",
        "SO_RCVTIMEO",
        "TCP_NOTSENT_LOWAT",
        "IP_MTU_DISCOVER",
    ]
)
"""Socket options of which what matters shows in the results of later calls, or which no model of
congestion control has."""

LENGTHS = {"write": 2, "send": 2, "sendto": 2}
"""By call that writes, the place of its length."""


def effect_of(call: Call) -> Effect:
    """The effect of a call. Raises NotModelled where a model of congestion control has none."""
    name, arguments = call.name, call.arguments
    if name in LENGTHS:
        return _write(call)
    if name in ("close", "shutdown"):
        return Effect(closes=True)
    if name == "setsockopt" and len(arguments) >= 4:
        return _option(call)
    if name in WITHOUT_EFFECT:
        return Effect()
    raise NotModelled(call.line, f"{name}()")


def _write(call: Call) -> Effect:
    flags = call.arguments[3] if call.name != "write" and len(call.arguments) > 3 else "0"
    for flag in ("MSG_FASTOPEN", "MSG_ZEROCOPY", "MSG_MORE", "MSG_EOR"):
        if flag in flags:
            raise NotModelled(call.line, flag)
    written = call.result.split()[0] if call.result else ""
    if written == "-1":
        return Effect()
    if not written.isdigit():
        raise NotModelled(call.line, f"a write that returns {call.result or 'nothing'}")
    return Effect(writes=int(written))


def _option(call: Call) -> Effect:
    option, value = call.arguments[2], call.arguments[3]
    if option == "TCP_CONGESTION":
        return Effect(control=value.strip('[]"'))
    if option == "TCP_MAXSEG" and value.strip("[]").isdigit():
        return Effect(largest_segment=int(value.strip("[]")))
    if option in HARMLESS_OPTIONS:
        return Effect()
    raise NotModelled(call.line, f"socket option {option}")
